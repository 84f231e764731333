package redis_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

const fleetName = "shop"

// fleet returns clients of one fleet, each of which has a watcher with a MaxLag.
func fleet(t testing.TB, addr string, maxLags ...time.Duration) (clients []*redis.Redis, watchers []*neartest.Recorder) {
	for _, maxLag := range maxLags {
		r := open(t, redis.Options{Fleet: fleetName}, addr)
		clients, watchers = append(clients, r), append(watchers, neartest.Record(t, r, maxLag))
	}
	return clients, watchers
}

// settle waits until r takes the list of the fleet for complete.
func settle(t testing.TB, r *redis.Redis) near.Revocation {
	t.Helper()
	for {
		how, err := r.Revoke(t.Context(), "user:none")
		if err != nil {
			t.Fatal(err)
		}
		if !how.Waited {
			return how
		}
	}
}

// TestRevokeIsAnswered checks that a revocation returns when all watchers have been told, without
// waiting for a MaxLag, also of a key that Redis does not have, and with any bytes in it.
func TestRevokeIsAnswered(t *testing.T) {
	for name, channel := range map[string]string{"tracking": "", "channel": "changes"} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			var clients []*redis.Redis
			var watchers []*neartest.Recorder
			for range 3 {
				r := open(t, redis.Options{Fleet: fleetName, Channel: channel}, s.Addr)
				clients, watchers = append(clients, r), append(watchers, neartest.Record(t, r, 200*time.Millisecond))
			}
			settle(t, clients[0])
			odd := "user:\x00:é 12:"
			how, err := clients[0].Revoke(t.Context(), "user:1", odd, "")
			if err != nil || how != (near.Revocation{Instances: 3}) {
				t.Errorf("%+v, %v", how, err)
			}
			for i, w := range watchers {
				w.Lock()
				if !slices.Contains(w.Keys, "user:1") || !slices.Contains(w.Keys, odd) || !slices.Contains(w.Keys, "") {
					t.Errorf("watcher %d had not been told: %q", i, w.Keys)
				}
				w.Unlock()
			}
		})
	}
}

// A jammed watcher does not return from Changed until it is released.
type jammed struct {
	*neartest.Recorder
	release chan struct{}
}

func (s jammed) Changed(keys ...string) {
	<-s.release
	s.Recorder.Changed(keys...)
}

// TestRevokeWaits checks that a watcher which does not answer is waited for, for its own MaxLag,
// which is longer than that of the one who asks.
func TestRevokeWaits(t *testing.T) {
	s := server(t)
	clients, _ := fleet(t, s.Addr, 100*time.Millisecond)
	slow := jammed{neartest.NewRecorder(700 * time.Millisecond), make(chan struct{})}
	other := open(t, redis.Options{Fleet: fleetName}, s.Addr)
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { other.Watch(ctx, slow) })
	defer watching.Wait()
	defer stop()
	defer close(slow.release)
	slow.Await(t, "the first Current", func() bool { return slow.Served })

	began := time.Now()
	how, err := clients[0].Revoke(t.Context(), "user:1")
	took := time.Since(began)
	if err != nil || how != (near.Revocation{Instances: 2, Silent: 1, Waited: true}) || took < 700*time.Millisecond {
		t.Errorf("%+v, %v after %v", how, err, took)
	}

	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, errors.New("too long for me"))
	defer cancel()
	if how, err := clients[0].Revoke(ctx, "user:1"); err == nil || !strings.Contains(err.Error(), "too long for me") {
		t.Errorf("with a context that has ended: %+v, %v", how, err)
	}
}

// TestRevokeForgetsTheDead checks that an instance that was killed is waited for, and
// removed from the list when it has made no beat for long; and that one that was closed is in it
// no more.
func TestRevokeForgetsTheDead(t *testing.T) {
	s := server(t)
	clients, _ := fleet(t, s.Addr, 100*time.Millisecond)
	settle(t, clients[0])
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	w := neartest.NewRecorder(100 * time.Millisecond)
	watching.Go(func() { open(t, redis.Options{Fleet: fleetName}, s.Addr).Watch(ctx, w) })
	w.Await(t, "the first Current", func() bool { return w.Served })
	if how := settle(t, clients[0]); how.Instances != 2 {
		t.Errorf("%+v, want 2 instances", how)
	}
	stop()
	watching.Wait()
	if how, err := clients[0].Revoke(t.Context(), "user:1"); err != nil || how != (near.Revocation{Instances: 1}) {
		t.Errorf("after one was closed: %+v, %v", how, err)
	}

	do(t, s, "HSET", "pinwheel:fleet:"+fleetName, "watch:dead", "200000 7")
	if how, err := clients[0].Revoke(t.Context(), "user:1"); err != nil || how.Silent != 1 {
		t.Errorf("with one that is dead: %+v, %v", how, err)
	}
	if how := settle(t, clients[0]); how.Instances != 1 {
		t.Errorf("later: %+v", how)
	}
}

// TestRevokeWithoutAList checks that a list that Redis has lost is not taken for that of a fleet
// without instances.
func TestRevokeWithoutAList(t *testing.T) {
	s := server(t)
	clients, watchers := fleet(t, s.Addr, 300*time.Millisecond)
	settle(t, clients[0])
	do(t, s, "DEL", "pinwheel:fleet:"+fleetName)
	began := time.Now()
	how, err := clients[0].Revoke(t.Context(), "user:1")
	if err != nil || !how.Waited || time.Since(began) < 300*time.Millisecond {
		t.Errorf("%+v, %v after %v", how, err, time.Since(began))
	}
	settle(t, clients[0])
	watchers[0].Await(t, "the end of the session", func() bool { return len(watchers[0].Losts) > 0 && watchers[0].Served })
}

// TestRevokeTakesAFleet checks the errors of those who have none.
func TestRevokeTakesAFleet(t *testing.T) {
	s := server(t)
	if _, err := open(t, redis.Options{}, s.Addr).Revoke(t.Context(), "user:1"); err == nil || !strings.Contains(err.Error(), "Options.Fleet is empty") {
		t.Error(err)
	}
	everything := redis.Options{Fleet: fleetName, Prefixes: []string{""}}
	everything.Client.InitAddress = []string{s.Addr}
	if _, err := redis.New(t.Context(), everything); err == nil || !strings.Contains(err.Error(), "Fleet is") {
		t.Error(err)
	}
}

// TestMarks checks that an instance knows a moment after the mark of another one when it has made a
// beat since, and none of a mark that is made up, or of a count that was lost.
func TestMarks(t *testing.T) {
	s := server(t)
	clients, watchers := fleet(t, s.Addr, 100*time.Millisecond, 100*time.Millisecond)
	a, b := clients[0], clients[1]
	mark := func() near.Mark {
		t.Helper()
		mark, err := a.Mark(t.Context())
		if err != nil || len(mark) > 100 || strings.ContainsAny(string(mark), " ,;\"\\") {
			t.Fatalf("%q, %v", mark, err)
		}
		return mark
	}
	first := mark()
	made := time.Now()
	second := mark()
	if _, ok := a.Moment(second); !ok {
		t.Error("who made it does not know it")
	}
	if moment, ok := b.Moment(second); ok && moment.Before(made) {
		t.Error("another one knows it from before it was made")
	}
	watchers[1].AwaitNow(t)
	watchers[1].AwaitNow(t)
	early, ok1 := b.Moment(first)
	late, ok2 := b.Moment(second)
	if !ok1 || !ok2 || early.After(late) || late.Before(made) {
		t.Errorf("after a beat: %v %v, %v %v", early, ok1, late, ok2)
	}
	for _, unknown := range []near.Mark{near.UnknownMark, "", second + "0", "x" + second, second[:len(second)-1] + "x", "."} {
		if _, ok := b.Moment(unknown); ok {
			t.Errorf("%q is known", unknown)
		}
	}
	do(t, s, "DEL", "pinwheel:fleet:"+fleetName) // the count begins again
	third := mark()
	if third == first || third == second {
		t.Error("a mark was made twice")
	}
	watchers[1].AwaitNow(t)
	watchers[1].AwaitNow(t)
	if moment, ok := b.Moment(third); !ok || moment.Before(made) {
		t.Errorf("after the count was lost: %v, %v", moment, ok)
	}
	if _, ok := b.Moment(second); ok {
		t.Error("a mark of the lost count is known")
	}
	if n := testing.AllocsPerRun(100, func() { b.Moment(third) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if mark, err := open(t, redis.Options{}, s.Addr).Mark(t.Context()); mark != near.UnknownMark || err != nil {
		t.Errorf("without a fleet: %q, %v", mark, err)
	}
}

// BenchmarkRevoke measures a Revoke in a fleet of ten: when all answer, and when one does not, whose
// MaxLag is a second.
func BenchmarkRevoke(b *testing.B) {
	for name, silent := range map[string]bool{"all answer": false, "one is silent": true} {
		b.Run(name, func(b *testing.B) {
			s := server(b)
			clients, _ := fleet(b, s.Addr, slices.Repeat([]time.Duration{time.Second}, 9)...)
			last := jammed{neartest.NewRecorder(time.Second), make(chan struct{})}
			if !silent {
				close(last.release)
			}
			ctx, stop := context.WithCancel(context.Background())
			var watching sync.WaitGroup
			other := open(b, redis.Options{Fleet: fleetName}, s.Addr)
			watching.Go(func() { other.Watch(ctx, last) })
			last.Await(b, "the first Current", func() bool { return last.Served })
			time.Sleep(2 * time.Second) // until the list counts as whole
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				how, err := clients[0].Revoke(b.Context(), "user:"+strconv.Itoa(len(took)))
				took = append(took, time.Since(began))
				if err != nil || how.Instances != 10 || how.Waited != silent {
					b.Errorf("%+v, %v", how, err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
			if silent {
				close(last.release)
			}
			stop()
			watching.Wait()
		})
	}
}
