package cache

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestComputeEntryIsAWindow checks that of many callers at once each counts once in the same
// window, which ends at its time, and that the next one begins then.
func TestComputeEntryIsAWindow(t *testing.T) {
	for name, o := range map[string]Options[string, int]{
		"plain": {},
		"Grace": {Expire: time.Hour, Grace: time.Hour},
		"watch": {Limit: 10, Ages: true, WhatIf: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := Must(o)
				defer c.Close(t.Context())
				count := func() Entry[string, int] {
					e, ok := c.ComputeEntry("k", time.Minute, func(n int, _ bool) (int, Op) { return n + 1, OpSet })
					if !ok || e.Key != "k" {
						t.Errorf("ComputeEntry = %+v, %v", e, ok)
					}
					return e
				}
				for range 3 {
					began := time.Now()
					count()
					time.Sleep(10 * time.Second)
					var wg sync.WaitGroup
					for range 50 {
						wg.Go(func() {
							if e := count(); e.TTL != 50*time.Second {
								t.Errorf("%d has %v left", e.Value, e.TTL)
							}
						})
					}
					wg.Wait()
					time.Sleep(50*time.Second - 1)
					if e := count(); e.Value != 52 || e.TTL != 1 {
						t.Errorf("%+v at the end of the window", e)
					}
					time.Sleep(time.Nanosecond)
					if since := time.Since(began); since != time.Minute {
						t.Fatal(since)
					}
				}
			})
		})
	}
}

// TestComputeEntryTTLs checks TTLs of 0 and below, and what is returned without a value.
func TestComputeEntryTTLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Expire: time.Hour})
		defer c.Close(t.Context())
		add := func(key string, ttl time.Duration, op Op) (Entry[string, int], bool) {
			return c.ComputeEntry(key, ttl, func(n int, _ bool) (int, Op) { return n + 1, op })
		}
		for _, test := range []struct {
			what string
			key  string
			ttl  time.Duration
			op   Op
			want int
			left time.Duration
		}{
			{"a negative TTL for a new key", "a", -1, OpSet, 0, 0},
			{"a new key", "a", time.Minute, OpSet, 1, time.Minute},
			{"a negative TTL for one that is there", "a", -1, OpSet, 2, time.Minute},
			{"no end for one that has one", "a", 0, OpSet, 3, time.Minute},
			{"kept", "a", time.Second, OpKeep, 3, time.Minute},
			{"deleted", "a", time.Second, OpDelete, 0, 0},
			{"kept, without a value", "a", time.Second, OpKeep, 0, 0},
			{"for ever", "b", 0, OpSet, 1, 1<<63 - 1},
			{"for ever, again", "b", time.Second, OpSet, 2, 1<<63 - 1},
		} {
			e, ok := add(test.key, test.ttl, test.op)
			if e.Key != test.key || e.Value != test.want || e.TTL != test.left || ok != (test.want > 0) {
				t.Errorf("%s: %+v, %v; want %d with %v left", test.what, e, ok, test.want, test.left)
			}
		}
	})
}
