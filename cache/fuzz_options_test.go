package cache_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// FuzzOptions makes caches with any options. New returns an error that names each
// field that is wrong, and no other, or a cache that keeps its bounds in the
// operations that follow, and all its promises with the others.
func FuzzOptions(f *testing.F) {
	f.Add("users", int64(2), int64(time.Minute), int64(time.Second), 0.5, uint64(0), false, uint8(0), 1, 10, true, true, 0.5, int64(time.Minute), int64(time.Second), int64(time.Minute), []byte("abcabc"))
	f.Add("", int64(-1), int64(1), int64(-1), math.NaN(), uint64(3), false, uint8(1), -1, 1001, false, false, math.NaN(), int64(-1), int64(2), int64(1), []byte{})
	f.Add("", int64(0), int64(0), int64(0), 0.0, uint64(0), false, uint8(0), 0, 0, false, false, 1.0, int64(0), int64(time.Hour), int64(time.Hour), []byte{})
	// The bounds of what is accepted.
	f.Add("", int64(math.MaxInt32), int64(time.Hour), int64(math.MaxInt64), math.Nextafter(1, 0), uint64(0), false, uint8(0), 1<<20, 1000, true, true, 0.0, int64(0), int64(0), int64(0), []byte("abc"))
	f.Add("", int64(1), int64(math.MaxInt64), int64(0), 0.0, uint64(0), false, uint8(1), 0, 0, false, true, 0.0, int64(0), int64(0), int64(0), []byte("abc"))
	f.Add("", int64(0), int64(time.Millisecond), int64(time.Hour), 0.0, uint64(math.MaxUint64), true, uint8(0), 3, 1, true, false, 0.0, int64(0), int64(0), int64(0), []byte("abc"))
	f.Add("", int64(0), int64(0), int64(0), 0.5, uint64(1), true, uint8(0), 0, 0, false, false, 0.0, int64(0), int64(0), int64(0), []byte("abc"))
	f.Fuzz(func(t *testing.T, name string, limit, expire, idle int64, jitter float64, maxWeight uint64, weighs bool,
		policy uint8, workers, hotKeys int, ages, whatIf bool, refresh float64, grace, patience, timeout int64, ops []byte) {
		o := cache.Options[byte, int]{
			Name: name, Limit: int(limit), Expire: time.Duration(expire), Idle: time.Duration(idle), Jitter: jitter,
			MaxWeight: maxWeight, Policy: cache.Policy(policy), Workers: workers, HotKeys: hotKeys, Ages: ages, WhatIf: whatIf,
			Refresh: refresh, Grace: time.Duration(grace), Patience: time.Duration(patience), Timeout: time.Duration(timeout),
		}
		if weighs {
			o.Weigh = func(key byte, _ int) uint32 { return uint32(key%7) * uint32(key%7) }
		}
		synctest.Test(t, func(t *testing.T) { optionsTest(t, o, ops[:min(len(ops), 200)]) })
	})
}

func optionsTest(t *testing.T, o cache.Options[byte, int], ops []byte) {
	o.OnRemove = func(cache.Event[byte, int]) {}
	c, err := cache.New(o)
	wrong := wrongFields(&o)
	if got := namedFields(err); !slices.Equal(got, wrong) || (err == nil) != (c != nil) {
		t.Fatalf("%v names %q, want %q", err, got, wrong)
	}
	if err != nil {
		return
	}
	for _, op := range ops {
		operate(t, c, &o, op)
		if weight := c.Stats().Weight; o.Limit > 0 && c.Len() > o.Limit || o.MaxWeight > 0 && weight > o.MaxWeight {
			t.Fatalf("after %d: %d entries, which weigh %d", op, c.Len(), weight)
		}
	}
	synctest.Wait()
	cache.WantWhole(t, c)
	if s := c.Stats(); s.Entries != c.Len() {
		t.Fatalf("the statistics are %+v, with %d entries", s, c.Len())
	}
	if err := c.Close(context.Background()); err != nil || c.Len() != 0 {
		t.Fatalf("Close: %v, and %d entries are left", err, c.Len())
	}
}

// operate does to a cache what a byte says.
func operate(t *testing.T, c *cache.Cache[byte, int], o *cache.Options[byte, int], op byte) {
	key := op >> 3
	switch op % 8 {
	default:
		c.Set(key, int(op))
		fits := o.MaxWeight == 0 || uint64(o.Weigh(key, int(op))) <= o.MaxWeight
		if v, ok := c.Peek(key); ok != fits || ok && v != int(op) {
			t.Fatalf("after Set(%d, %d), Peek returns %d, %v", key, op, v, ok)
		}
	case 2:
		had, ok := c.Peek(key)
		v, err := c.TakeCtx(t.Context(), key, func(context.Context) (int, error) { return int(op), nil })
		if err != nil || ok && v != had {
			t.Fatalf("TakeCtx(%d) = %d, %v, and Peek found %d, %v", key, v, err, had, ok)
		}
	case 3:
		c.SetWithExpire(key, int(op), time.Duration(key)*time.Second)
	case 4:
		_, ok := c.Get(key)
		if _, peeked := c.Peek(key); peeked != ok {
			t.Fatalf("Get(%d) found is %v, and Peek %v", key, ok, peeked)
		}
	case 5:
		c.Del(key)
		if _, ok := c.Peek(key); ok {
			t.Fatalf("%d is there after Del", key)
		}
	case 6:
		time.Sleep(c.Tick() * time.Duration(key))
		synctest.Wait()
	case 7:
		for k := range key * 8 {
			c.Set(k, int(k))
		}
	}
}

// wrongFields says what New should refuse, in the order in which it does.
func wrongFields(o *cache.Options[byte, int]) (wrong []string) {
	tooShort := func(d time.Duration) bool { return d < 0 || d > 0 && d < time.Millisecond }
	for _, field := range []struct {
		name  string
		wrong bool
	}{
		{"Limit", o.Limit < 0 || int64(o.Limit) > math.MaxInt32},
		{"MaxWeight", o.MaxWeight > 0 && o.Weigh == nil},
		{"Weigh", o.MaxWeight == 0 && o.Weigh != nil},
		{"Policy", o.Policy > cache.Adaptive},
		{"Elastic", o.Elastic && o.Limit == 0 && o.MaxWeight == 0},
		{"WhatIf", o.WhatIf && (o.Limit == 0 || o.MaxWeight > 0)},
		{"both", o.Elastic && o.WhatIf},
		{"Expire", tooShort(o.Expire)},
		{"Idle", tooShort(o.Idle)},
		{"Jitter", math.IsNaN(o.Jitter) || o.Jitter < 0 || o.Jitter >= 1},
		{"Refresh", math.IsNaN(o.Refresh) || o.Refresh < 0 || o.Refresh >= 1},
		{"RefreshAfter", tooShort(o.RefreshAfter)},
		{"both", o.Refresh > 0 && o.RefreshAfter > 0},
		{"RefreshAfter", o.Expire > 0 && o.RefreshAfter >= o.Expire},
		{"Grace", tooShort(o.Grace)},
		{"Patience", tooShort(o.Patience)},
		{"Timeout", tooShort(o.Timeout)},
		{"Batch", tooShort(o.Batch)},
		{"Batch", o.Batch > 0 && o.LoadMany == nil},
		{"Patience", o.Patience > 0 && o.Grace == 0},
		{"Patience", o.Timeout > 0 && o.Patience >= o.Timeout},
		{"MaxLoads", o.MaxLoads < 0},
		{"Workers", o.Workers < 0},
		{"HotKeys", o.HotKeys < 0 || o.HotKeys > 1000},
	} {
		if field.wrong {
			wrong = append(wrong, field.name)
		}
	}
	return wrong
}

// namedFields returns the first word of each line of an error of New.
func namedFields(err error) (names []string) {
	if err == nil {
		return nil
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "cache: "), " ")
		names = append(names, name)
	}
	return names
}
