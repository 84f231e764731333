package cache

import (
	"context"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestCallbackFetchesInAGoroutine checks that a fetch for which OnRemove waits does not
// wait for OnRemove, although it runs in another goroutine and removes values.
func TestCallbackFetchesInAGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetched := false
		var c *Cache[int, int]
		c = Must(Options[int, int]{Workers: 1, OnRemove: func(e Event[int, int]) {
			if e.Key != 0 {
				return
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, err := c.TakeCtx(ctx, -1, func(context.Context) (int, error) {
				for i := range 2 * backlog {
					c.Set(1, i)
				}
				return 1, nil
			})
			fetched = err == nil
		}})
		c.Set(0, 0)
		c.Del(0)
		synctest.Wait()
		if !fetched {
			t.Fatal("the callback waits for itself")
		}
		mustClose(t, c)
	})
}

// TestLabelsOfALoad checks that a profile shows a load with the labels of its caller's context, not
// with those of the load that its goroutine has run before.
//
// Catches: processor time of a request that a profile gives to another.
func TestLabelsOfALoad(t *testing.T) {
	c := Must(Options[int, [2]string]{Limit: 10})
	defer mustClose(t, c)
	ctx, cancel := context.WithCancel(t.Context()) // it can end, so loads have goroutines of their own
	defer cancel()
	shared := ""
	for end := time.Now().Add(time.Minute); shared == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no goroutine has run two loads")
		}
		for key := range 2 {
			want := strconv.Itoa(key)
			pprof.Do(ctx, pprof.Labels("caller", want), func(ctx context.Context) {
				c.Del(key)
				got, err := c.TakeCtx(ctx, key, labels)
				if err != nil || got[1] != want {
					t.Errorf("the labels of load %d are those of %q, %v", key, got[1], err)
				}
				if old, _ := c.Get(1 - key); old[0] == got[0] {
					shared = got[0]
				}
			})
		}
	}
}

// labels returns which goroutine runs it, and the label that a profile shows for it.
//
//go:noinline
func labels(context.Context) (found [2]string, _ error) {
	var profile strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	if label := regexp.MustCompile(`labels: \{"caller":"(\d)"\}\n(?:#.*\n)*#.*cache\.labels\+`).FindStringSubmatch(profile.String()); label != nil {
		found[1] = label[1]
	}
	stack := make([]byte, 100)
	found[0], _, _ = strings.Cut(string(stack[:runtime.Stack(stack, false)]), "[")
	return found, nil
}

// TestExpiresWhileACallerIsAssigned checks that, in a cache without Grace, a value that
// expires between two looks of a caller is not taken for one in Grace.
func TestExpiresWhileACallerIsAssigned(t *testing.T) {
	c := Must(Options[int, int]{Expire: time.Minute})
	for n := range 20_000 {
		c.Set(1, 1)
		h := c.common.hasher.Hash(1)
		s := c.common.lock(h)
		i, _ := s.find(h, 1)
		s.entries[i].deadline.Set(c.common.time.clock.Now() + int64(n%300))
		who := aPlainTake()
		s.decide(h, 1, who, nil)
		if who.inGrace {
			t.Error("a value is in Grace")
		}
		s.loads, s.loading = nil, 0
		s.lock.Unlock()
	}
}
