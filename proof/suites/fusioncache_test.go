package suites

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// FusionCache is for .NET, so its tests cannot run here. These are their scenarios as a service in
// Go writes them, by the names that they have in
// https://github.com/ZiggyCreatures/FusionCache/blob/v2.7.1/tests/ZiggyCreatures.FusionCache.Tests/L1Tests_Sync.cs.
// GetOrSet is TakeWith; GetOrDefault and TryGet are Get, or Stale with AllowStaleOnReadOnly; fail-safe
// is Grace, and its throttle RetryAfter; the soft timeout is Patience, and the hard one Timeout.
//
// Those are left out that check only what others here do too, and those about what a cache here does not have:
// conversions of types, clones, a null cache, prefixes of keys, and removal by tags, which is DelFunc of what a value says.
var fusionCache = map[string]scenario{
	"CanRemove": {run: func(f *fusion) {
		f.Set("foo", 42)
		f.get(42)
		f.Del("foo")
		f.get(0)
	}},
	"SetOverwritesAnExistingValue": {run: func(f *fusion) {
		f.Set("foo", 42)
		f.Set("foo", 21)
		f.get(21)
	}},
	"GetOrSetDoesNotOverwriteANonExpiredValue": {run: func(f *fusion) {
		f.take(42, value(42))
		f.take(42, value(21))
	}},
	"GetOrSetWithDefaultValueWorks": {run: func(f *fusion) {
		f.GetOrSet("foo", 42)
		f.get(42)
	}},
	"GetOrDefaultDoesNotSet": {run: func(f *fusion) {
		f.get(0)
		f.get(0)
		f.is("entries", f.Len(), 0)
	}},

	// Fail-safe.
	"ReturnsStaleDataWhenFactoryFailsWithoutException": {throttled(time.Second), func(f *fusion) {
		f.take(42, value(42))
		time.Sleep(1500 * time.Millisecond)
		f.take(42, failing)
		time.Sleep(1100 * time.Millisecond)
		f.fail(errSloths, cache.Terms{NoOld: true}, failing)
		f.take(42, failing)
	}},
	"ThrowsWhenFactoryThrowsWithoutFailSafe": {failSafe, func(f *fusion) {
		f.take(42, value(42))
		time.Sleep(1100 * time.Millisecond)
		f.fail(errSloths, cache.Terms{NoOld: true}, failing)
		f.stale(42)
	}},
	"ReturnsStaleDataWithoutSavingItWhenNoFactory": {failSafe, func(f *fusion) {
		f.take(42, value(42))
		time.Sleep(1500 * time.Millisecond)
		f.stale(42)
		f.get(0)
		f.stale(42)
		f.get(0)
	}},
	"ThrottleDurationWorksCorrectly": {throttled(2 * time.Second), func(f *fusion) {
		f.Set("foo", 42)
		time.Sleep(1100 * time.Millisecond)
		f.get(0)
		f.take(42, failing)
		time.Sleep(1900 * time.Millisecond)
		f.take(42, failing)
		f.loads(1)
		time.Sleep(200 * time.Millisecond)
		f.get(0)
		f.take(42, failing)
		f.loads(2)
	}},
	"FailSafeMaxDurationNormalizationOccurs": {cache.Options[string, int]{Expire: 5 * time.Second, Grace: time.Second}, func(f *fusion) {
		f.Set("foo", 21)
		time.Sleep(1100 * time.Millisecond)
		f.get(21)
	}},
	"FailSafeMaxDurationIsRespected": {
		cache.Options[string, int]{Expire: 2 * time.Second, Grace: 3 * time.Second, RetryAfter: pause(time.Second)},
		func(f *fusion) {
			f.Set("foo", 21)
			for range 4 {
				time.Sleep(1100 * time.Millisecond)
				f.take(21, failing)
			}
			time.Sleep(1100 * time.Millisecond)
			f.fail(errSloths, cache.Terms{}, failing)
		},
	},
	"JitteringIsNotUsedWhenActivatingFailSafe": {
		cache.Options[string, int]{Expire: 3 * time.Hour, Jitter: 0.16, Grace: time.Hour},
		func(f *fusion) {
			f.fail(errSloths, cache.Terms{}, failing) // the default value is the caller's
			time.Sleep(250 * time.Millisecond)
			f.take(1, value(1))
		},
	},

	// Timeouts.
	"ThrowsOnFactoryHardTimeoutWithoutStaleData": {timeouts(0, 100*time.Millisecond), func(f *fusion) {
		f.fail(cache.ErrTimeout, cache.Terms{}, after(time.Second, value(21)))
	}},
	"DoesHardTimeoutEvenWithoutStaleData": {timeouts(100*time.Millisecond, 500*time.Millisecond), func(f *fusion) {
		f.fail(cache.ErrTimeout, cache.Terms{}, after(time.Second, value(21)))
	}},
	"DoesNotSoftTimeoutWithoutStaleData": {timeouts(100*time.Millisecond, 0), func(f *fusion) {
		f.take(21, after(time.Second, value(21)))
	}},
	"ReturnsStaleDataWhenFactorySoftTimeoutWithFailSafe": {timeouts(100*time.Millisecond, 0), func(f *fusion) {
		f.take(42, value(42))
		time.Sleep(1100 * time.Millisecond)
		f.within(100*time.Millisecond, func() { f.take(42, after(time.Second, value(21))) })
	}},
	"ReturnsStaleDataWhenFactoryHitHardTimeoutWithFailSafe": {timeouts(100*time.Millisecond, 500*time.Millisecond), func(f *fusion) {
		f.Set("foo", 42)
		time.Sleep(1100 * time.Millisecond)
		f.take(42, after(time.Second, value(21)))
	}},
	"FactoryTimedOutButSuccessfulDoesUpdateCachedValue": {timeouts(500*time.Millisecond, 0), func(f *fusion) {
		f.Set("foo", 42)
		time.Sleep(1500 * time.Millisecond)
		f.take(42, after(2*time.Second, value(21)))
		f.stale(42)
		time.Sleep(3 * time.Second)
		f.stale(21)
	}},
	"CanSoftFailWithSoftTimeout": {timeouts(100*time.Millisecond, 0), func(f *fusion) {
		f.take(42, value(42))
		time.Sleep(1100 * time.Millisecond)
		f.take(42, after(time.Second, failing))
		time.Sleep(1100 * time.Millisecond)
		f.get(42)
	}},
	"CanCancelAnOperation": {run: func(f *fusion) {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond) // fake time
		defer cancel()
		f.within(200*time.Millisecond, func() {
			_, err := f.TakeWith(ctx, "foo", after(5*time.Second, value(42)))
			f.is("error", err, context.DeadlineExceeded)
		})
	}},
	"SoftTimeoutDoesNotBreakStampedeProtection": {timeouts(time.Second, 0), func(f *fusion) {
		f.Set("foo", 42)
		time.Sleep(time.Second)
		f.parallel(10, 42, after(10*time.Second, value(42)))
		time.Sleep(time.Second)
		f.parallel(10, 42, after(10*time.Second, value(42)))
		f.loads(1)
	}},

	// Adaptive caching: the load says for how long.
	"AdaptiveCaching": {cache.Options[string, int]{Expire: 5 * time.Minute}, func(f *fusion) {
		f.take(3, lasting(time.Second, value(3)))
		time.Sleep(2 * time.Second)
		f.get(0)
	}},
	"AdaptiveCachingWithBackgroundFactoryCompletion": {
		cache.Options[string, int]{Expire: 5 * time.Minute, Grace: time.Minute, Patience: time.Second},
		func(f *fusion) {
			f.SetWithExpire("foo", 21, time.Second)
			time.Sleep(2 * time.Second)
			f.take(21, after(3*time.Second, lasting(5*time.Second, value(42))))
			time.Sleep(4 * time.Second)
			f.get(42)
			time.Sleep(5 * time.Second)
			f.get(0)
		},
	},
	"AdaptiveCachingDoesNotChangeOptions": {cache.Options[string, int]{Expire: 10 * time.Second}, func(f *fusion) {
		f.take(42, lasting(20*time.Second, value(42)))
		f.Set("bar", 1)
		bar, _ := f.Entry("bar")
		f.is("TTL", bar.TTL, 10*time.Second)
	}},
	"AdaptiveCachingCanWorkWithSkipMemoryCache": {throttled(3 * time.Second), func(f *fusion) {
		f.take(1, value(1))
		time.Sleep(1100 * time.Millisecond)
		f.takeOn(cache.Terms{NoStore: true}, 2, value(2))
		f.stale(1)
		time.Sleep(3100 * time.Millisecond)
		f.take(4, value(4))
	}},
	"AdaptiveCachingCanWorkOnException": {failSafe, func(f *fusion) {
		f.Set("foo", 1)
		f.Expire("foo")
		f.fail(errSloths, cache.Terms{}, func(_ context.Context, l *cache.Load[int]) (int, error) {
			l.Gone = true // the closest that a load can say to "no fail-safe"
			return 0, errSloths
		})
		f.take(1, failing)
	}},

	// Durations.
	"CanHandleInfiniteOrSimilarDurations": {cache.Options[string, int]{Jitter: 0.5}, func(f *fusion) {
		f.SetWithExpire("foo", 42, math.MaxInt64-time.Millisecond)
		f.get(42)
	}},
	"CanHandleZeroDurations": {run: func(f *fusion) {
		f.SetWithExpire("foo", 10, 0)
		f.get(0)
		f.SetWithExpire("foo", 20, 10*time.Minute)
		f.get(20)
		f.SetWithExpire("foo", 30, 0)
		f.get(0)
	}},
	"CanHandleNegativeDurations": {run: func(f *fusion) {
		f.SetWithExpire("foo", 10, -100*time.Second)
		f.get(0)
		f.SetWithExpire("foo", 20, 10*time.Minute)
		f.get(20)
		f.SetWithExpire("foo", 30, -2400*time.Hour)
		f.get(0)
	}},

	// Refresh.
	"CanConditionalRefresh": {failSafe, func(f *fusion) {
		origin, requests, full := 1, 0, 0
		conditional := func(_ context.Context, l *cache.Load[int]) (int, error) {
			requests++
			if l.HasOld && l.Old == origin {
				l.Unchanged = true
				return 0, nil
			}
			full++
			return origin, nil
		}
		f.take(1, conditional)
		f.take(1, conditional)
		for range 2 {
			time.Sleep(1100 * time.Millisecond)
			f.take(1, conditional)
		}
		origin = 42
		time.Sleep(1100 * time.Millisecond)
		f.take(42, conditional)
		f.is("requests, full", []int{requests, full}, []int{4, 2})
	}},
	"CanEagerRefresh": {eager(2*time.Second, 0.2), func(f *fusion) {
		f.take(1, value(1))
		f.take(1, value(2))
		time.Sleep(410 * time.Millisecond)
		f.take(1, value(3))
		time.Sleep(250 * time.Millisecond)
		f.take(3, value(4))
		time.Sleep(2100 * time.Millisecond)
		f.take(5, value(5))
		f.take(5, value(6))
	}},
	"CanEagerRefreshWithInfiniteDuration": {eager(math.MaxInt64, 0.5), func(f *fusion) {
		f.take(1, value(1))
	}},
	"CanEagerRefreshNoCancellation": {eager(2*time.Second, 0.1), func(f *fusion) {
		f.take(1, value(1))
		time.Sleep(210 * time.Millisecond)
		ctx, cancel := context.WithCancel(context.Background())
		v, err := f.TakeWith(ctx, "foo", func(ctx context.Context, l *cache.Load[int]) (int, error) {
			time.Sleep(5 * time.Second)
			return 3, ctx.Err()
		})
		f.is("value", []any{v, err}, []any{1, nil})
		time.Sleep(50 * time.Millisecond)
		cancel()
		time.Sleep(5100 * time.Millisecond)
		f.take(3, value(4))
	}},
	"NormalFactoryExecutionWaitsForInFlightEagerRefresh": {eager(2*time.Second, 0.2), func(f *fusion) {
		f.take(1, value(1))
		time.Sleep(410 * time.Millisecond)
		f.take(1, after(4*time.Second, value(2)))
		time.Sleep(2100 * time.Millisecond)
		f.take(2, value(3))
		f.take(2, value(4))
	}},
	"EagerRefreshDoesNotBreakStampedeProtection": {eager(10*time.Second, 0.1), func(f *fusion) {
		f.Set("foo", 42)
		for range 2 {
			time.Sleep(time.Second)
			f.parallel(1000, 42, after(5*time.Second, value(42)))
		}
		f.loads(1)
	}},

	// Expire, clear, skip.
	"CanExpire": {failSafe, func(f *fusion) {
		f.Set("foo", 42)
		f.get(42)
		f.Expire("foo")
		f.get(0)
		f.stale(42)
	}},
	"CanRemoveByTagWithBehaviorExpire": {failSafe, func(f *fusion) {
		f.Set("foo", 1)
		f.ExpireFunc(func(key string, _ int) bool { return key == "foo" })
		f.get(0)
		f.stale(1)
	}},
	"CanRemoveByTagWithBehaviorRemove": {failSafe, func(f *fusion) {
		f.Set("foo", 1)
		f.DelFunc(func(key string, _ int) bool { return key == "foo" })
		f.stale(0)
	}},
	"CanClear": {run: func(f *fusion) {
		f.Set("foo", 1)
		f.Set("bar", 2)
		f.Clear()
		f.is("entries", f.Len(), 0)
	}},
	"CanClearWithFailSafe": {failSafe, func(f *fusion) {
		f.Set("foo", 1)
		f.ExpireAll()
		time.Sleep(100 * time.Millisecond)
		f.get(0)
		f.stale(1)
		f.take(1, failing)
		f.Clear()
		f.stale(0)
	}},
	"CanSkipMemoryCacheReadWrite": {run: func(f *fusion) {
		f.takeOn(cache.Terms{NoStore: true}, 42, value(42))
		f.get(0)
		f.takeOn(cache.Within(0), 42, value(42))
		f.get(42)
		f.takeOn(cache.Within(0), 43, value(43))
	}},
}

// fusionDiffers has the scenarios that end otherwise here, and why.
var fusionDiffers = map[string]string{
	"AdaptiveCachingCanWorkOnException": "a load that fails cannot both refuse the old value and keep it: its caller refuses it, by Terms.NoOld",
	"CanHandleZeroDurations":            "a TTL of 0 is for ever, as in the options; with a negative one nothing is stored",
	"CanSoftFailWithSoftTimeout":        "a failed load makes the old value no fresher: Get never returns an expired one, Stale and the Takes do",
}

func TestFusionCache(t *testing.T) {
	for name, s := range fusionCache {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // fake time
				wrong := s.outcome(t)
				switch reason, listed := fusionDiffers[name]; {
				case listed && len(wrong) == 0:
					t.Errorf("is as in FusionCache, but listed as other: %s", reason)
				case !listed && len(wrong) > 0:
					t.Error(strings.Join(wrong, "\n"))
				}
			})
		})
	}
	for name := range fusionDiffers {
		if _, ok := fusionCache[name]; !ok {
			t.Errorf("no scenario is called %s: take it off the list", name)
		}
	}
}

// A scenario is one of FusionCache's tests.
type scenario struct {
	options cache.Options[string, int]
	run     func(f *fusion)
}

// outcome runs the scenario and returns what is not as in FusionCache.
func (s scenario) outcome(t *testing.T) []string {
	c, err := cache.New(s.options)
	must(t, err)
	f := &fusion{Cache: c}
	s.run(f)
	must(t, c.Close(context.Background()))
	return f.wrong
}

// A fusion is the cache of a scenario, whose key is "foo", and what differs.
type fusion struct {
	*cache.Cache[string, int]

	mu    sync.Mutex
	made  int // loads
	wrong []string
}

type load = func(context.Context, *cache.Load[int]) (int, error)

func (f *fusion) is(what string, got, want any) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.wrong = append(f.wrong, fmt.Sprintf("%s: %s, want %s", what, g, w))
	}
}

// get looks, and wants a value that has not expired; 0: none.
func (f *fusion) get(want int) {
	v, _ := f.Get("foo")
	f.is("Get", v, want)
}

// stale is get, but also an expired value will do.
func (f *fusion) stale(want int) {
	e, _ := f.Stale("foo")
	f.is("Stale", e.Value, want)
}

// take wants a value without an error.
func (f *fusion) take(want int, l load) { f.takeOn(cache.Terms{}, want, l) }

func (f *fusion) takeOn(terms cache.Terms, want int, l load) {
	e, err := f.TakeEntry(context.Background(), "foo", terms, f.counted(l))
	f.is("Take", []any{e.Value, err}, []any{want, nil})
}

// fail wants an error.
func (f *fusion) fail(want error, terms cache.Terms, l load) {
	e, err := f.TakeEntry(context.Background(), "foo", terms, f.counted(l))
	if !errors.Is(err, want) {
		f.is("TakeEntry", []any{e.Value, err}, want)
	}
}

// parallel is take in n goroutines at once.
func (f *fusion) parallel(n, want int, l load) {
	var callers sync.WaitGroup
	for range n {
		callers.Go(func() { f.take(want, l) })
	}
	callers.Wait()
}

// within wants a call to take exactly that long.
func (f *fusion) within(want time.Duration, call func()) {
	began := time.Now()
	call()
	f.is("time", time.Since(began), want)
}

// counted counts loads.
func (f *fusion) counted(l load) load {
	return func(ctx context.Context, told *cache.Load[int]) (int, error) {
		f.mu.Lock()
		f.made++
		f.mu.Unlock()
		return l(ctx, told)
	}
}

func (f *fusion) loads(want int) {
	f.mu.Lock()
	made := f.made
	f.mu.Unlock()
	f.is("loads", made, want)
}

var errSloths = errors.New("sloths are cool")

func value(v int) load {
	return func(context.Context, *cache.Load[int]) (int, error) { return v, nil }
}

func failing(context.Context, *cache.Load[int]) (int, error) { return 0, errSloths }

// after is l after a while, whatever its context.
func after(wait time.Duration, l load) load {
	return func(ctx context.Context, told *cache.Load[int]) (int, error) {
		time.Sleep(wait)
		return l(ctx, told)
	}
}

// lasting is l with a TTL of its own.
func lasting(expire time.Duration, l load) load {
	return func(ctx context.Context, told *cache.Load[int]) (int, error) {
		told.Expire = expire
		return l(ctx, told)
	}
}

// failSafe waits for a load, as FusionCache does without a soft timeout.
var failSafe = timeouts(time.Hour, 0)

// timeouts has fail-safe with a soft and a hard timeout; 0: none.
func timeouts(soft, hard time.Duration) cache.Options[string, int] {
	return cache.Options[string, int]{Expire: time.Second, Grace: time.Minute, Patience: soft, Timeout: hard}
}

func throttled(by time.Duration) cache.Options[string, int] {
	o := failSafe
	o.RetryAfter = pause(by)
	return o
}

func pause(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

func eager(expire time.Duration, threshold float64) cache.Options[string, int] {
	return cache.Options[string, int]{Expire: expire, Refresh: threshold}
}
