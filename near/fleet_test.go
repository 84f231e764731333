package near_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A squad is three instances over a server whose messages take up to 40 ms, for long enough to know each other. Each
// has a MaxLag of its own: the first the shortest.
type squad struct {
	t        *testing.T
	server   *server
	failing  atomic.Pointer[string] // a command; nil: none
	all      [3]*instance
	database int
}

var lags = [...]time.Duration{300 * time.Millisecond, 2 * time.Second, 5 * time.Second}

// inSquad runs a test in fake time.
func inSquad(t *testing.T, test func(s *squad)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &squad{t: t, server: newServer(), database: 1}
		s.server.fail = func(op string) bool {
			failing := s.failing.Load()
			return failing != nil && *failing == op
		}
		s.server.delay = func() time.Duration { return 20 * time.Millisecond }
		for i := range s.all {
			s.all[i] = s.join(near.Options[int, int]{Name: fmt.Sprint("squad ", i), MaxLag: lags[i]})
		}
		time.Sleep(20 * time.Second)
		test(s)
		for _, one := range s.all {
			one.Close(context.Background())
		}
	})
}

func (s *squad) join(o near.Options[int, int]) *instance {
	o.Prefix = "k:"
	c, err := near.New[int, int](s.server, s.server, o)
	must(s.t, err)
	return c
}

// fill has all instances take a key.
func (s *squad) fill(key int) {
	for _, one := range s.all {
		taken(s.t, one, key, &s.database, s.database)
	}
	time.Sleep(time.Second)
}

// gone checks how long a removal takes, by the fastest instance, and that afterwards nobody has the old value.
func (s *squad) gone(what string, key int, least, most time.Duration, remove func(one *instance) error) {
	s.t.Helper()
	s.database++
	began := time.Now()
	must(s.t, remove(s.all[0]))
	if took := time.Since(began); took < least || took > most { // fake time
		s.t.Errorf("%s took %v, want %v to %v", what, took, least, most)
	}
	for i, one := range slices.Backward(s.all[:]) { // the one that has removed it last: others hear of what it loads
		if value, err := one.Take(s.t.Context(), key, func(context.Context) (int, error) { return s.database, nil }); value != s.database || err != nil {
			s.t.Errorf("after %s instance %d has %d, %v, want %d", what, i, value, err, s.database)
		}
	}
}

// removals are the ways to remove key 7 from the whole fleet.
var removals = map[string]func(one *instance) error{
	"Revoke":    func(one *instance) error { return one.Revoke(context.Background(), 7) },
	"DelPrefix": func(one *instance) error { _, err := one.DelPrefix(context.Background(), "7"); return err },
	"Clear":     func(one *instance) error { return one.Clear(context.Background()) },
	"the page": func(*instance) error { // of the first
		r := httptest.NewRequest(http.MethodPost, "/purge", strings.NewReader("cache=squad 0&fleet=1&key=7"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		stats.Handler(stats.WithOperators(func(*http.Request) error { return nil })).ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			return errors.New(w.Body.String())
		}
		return nil
	},
}

// TestRevoke checks that a removal takes some round trips if all answer, and the MaxLag of the silent one if one does
// not, but no longer once that was closed; and that it returns with nil when nobody has the old value.
func TestRevoke(t *testing.T) {
	const quick = time.Second / 4
	for what, remove := range removals {
		inSquad(t, func(s *squad) {
			s.fill(7)
			before := s.server.called("get")
			must(s.t, s.all[0].Revoke(s.t.Context(), 8))
			time.Sleep(time.Second)
			if n := s.server.called("get") - before; n != 4 {
				s.t.Errorf("two instances read a question and its end %d times, want 4", n)
			}
			s.gone(what, 7, 0, quick, remove)

			began := make(chan int) // a load under way
			must(s.t, s.all[0].Del(s.t.Context(), 7))
			time.Sleep(time.Second)
			go s.all[0].Take(context.Background(), 7, func(context.Context) (int, error) { // the others wait for its lease
				old := s.database
				began <- old
				time.Sleep(20 * time.Second)
				return old, nil
			})
			<-began
			s.gone(what+" during a load", 7, 0, quick, remove)
			time.Sleep(30 * time.Second)

			s.server.set(&s.server.full, true) // what is fetched is in no store, so no source tells of its removal
			must(s.t, s.all[1].Del(s.t.Context(), 7))
			time.Sleep(time.Second)
			s.fill(7)
			s.server.set(&s.server.full, false)
			s.gone(what+" of a value that is not stored", 7, 0, quick, remove)

			s.silence(2)
			s.gone(what+" with a silent instance", 7, lags[2], lags[2]+time.Second, remove)
			must(s.t, s.all[2].Close(s.t.Context()))
			s.fill(7)
			s.gone(what+" after its Close", 7, 0, quick, remove)

			s.server.flush() // so the list of instances is another one
			time.Sleep(time.Second)
			s.fill(7)
			s.gone(what+" with a new list", 7, 4*time.Second, 9*time.Second, remove)
			time.Sleep(20 * time.Second)
			s.fill(7)
			s.gone(what+" with an older list", 7, 0, quick, remove)
			s.server.cut(false) // it may be another server now
			time.Sleep(time.Second / 5)
			s.fill(7)
			s.gone(what+" after a reconnection", 7, lags[1], lags[1]+time.Second, remove)
		})
	}
}

// TestRevokeOfTheUnlisted checks that a removal waits for instances that are not on the list any more, or never were, as
// long as those may serve what they have.
func TestRevokeOfTheUnlisted(t *testing.T) {
	for what, remove := range removals {
		inSquad(t, func(s *squad) {
			s.fill(7)
			s.silence(2) // it does not hear that its list is lost
			s.server.flush()
			time.Sleep(time.Second)
			s.gone(what+" when the list was lost", 7, lags[2], lags[2]+8*time.Second, remove)
		})
		inSquad(t, func(s *squad) {
			s.replace(near.Options[int, int]{MaxLag: lags[2]}, 0, 2).Store(true) // their user may not enroll
			s.server.flush()
			time.Sleep(20 * time.Second)
			s.fill(7)
			s.silence(2)
			s.gone(what+" of two that nobody knows", 7, lags[2], lags[2]+time.Second, remove)
		})
		inSquad(t, func(s *squad) {
			s.replace(near.Options[int, int]{MaxLag: time.Minute}, 0)
			cut := s.replace(near.Options[int, int]{MaxLag: time.Minute}, 2)
			time.Sleep(2 * time.Minute)
			s.fill(7)
			s.silence(2)
			cut.Store(true)
			s.server.mu.Lock()
			clear(s.server.lists) // evicted
			s.server.mu.Unlock()
			time.Sleep(8 * time.Second) // all others are listed again
			s.gone(what+" of one that was listed before", 7, 50*time.Second, 70*time.Second, remove)
		})
	}
}

// replace has other instances, until the flag is set that it returns: then they cannot enroll.
func (s *squad) replace(o near.Options[int, int], which ...int) (unlisted *atomic.Bool) {
	unlisted, o.Prefix = new(atomic.Bool), "k:"
	for _, i := range which {
		must(s.t, s.all[i].Close(s.t.Context()))
		o.Name = fmt.Sprint("squad ", i)
		c, err := near.New[int, int](lister{s.server, unlisted}, s.server, o)
		must(s.t, err)
		s.all[i] = c
	}
	return unlisted
}

// silence keeps from an instance what the source tells; instances are counted by when they came.
func (s *squad) silence(stream int) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.streams[stream].silent = true
}

// A lister is a server that may refuse to enroll.
type lister struct {
	*server
	refuses *atomic.Bool
}

func (l lister) Enroll(ctx context.Context, list, member string, life time.Duration) error {
	if l.refuses.Load() {
		return near.ErrRefused
	}
	return l.server.Enroll(ctx, list, member, life)
}

// TestKeyLikeAQuestion checks that a key that begins as questions do changes as any other.
func TestKeyLikeAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var all []*near.Cache[string, int]
		for range 2 {
			c, err := near.New[string, int](s, s, near.Options[string, int]{Prefix: "k:", MaxLag: time.Hour})
			must(t, err)
			defer c.Close(context.Background())
			all = append(all, c)
		}
		for want := range 2 {
			for range 2 { // at last from memory
				time.Sleep(time.Second)
				value, err := all[0].Take(t.Context(), "~~x", func(context.Context) (int, error) { return want, nil })
				if value != want || err != nil {
					t.Errorf("%d, %v, want %d", value, err, want)
				}
			}
			must(t, all[1].Del(t.Context(), "~~x"))
		}
	})
}

// TestEnrollBeforeWithdraw checks that Close does not leave a member on the list whose Enroll is under way.
func TestEnrollBeforeWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowList{newServer(), make(chan bool)}
		go func() { <-s.begins }() // when it is made
		c, err := near.New[int, int](s, s.server, near.Options[int, int]{Prefix: "k:"})
		must(t, err)
		<-s.begins
		must(t, c.Close(t.Context()))
		time.Sleep(time.Minute)
		if all, _, err := s.Members(t.Context(), "k:"); len(all) > 0 || err != nil {
			t.Errorf("%q are left, %v", all, err)
		}
	})
}

// slowList is a server that enrolls half a second later, also if nobody waits for that any more.
type slowList struct {
	*server
	begins chan bool
}

func (s slowList) Enroll(ctx context.Context, list, member string, life time.Duration) error {
	s.begins <- true
	done := make(chan error, 1)
	go func() {
		time.Sleep(time.Second / 2)
		done <- s.server.Enroll(context.WithoutCancel(ctx), list, member, life)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestRevokeFails checks what the errors say, and that the fastest instance has nothing old after them.
func TestRevokeFails(t *testing.T) {
	inSquad(t, func(s *squad) {
		for what, remove := range map[string]func(ctx context.Context) error{
			"Revoke":    func(ctx context.Context) error { return s.all[0].Revoke(ctx, 7) },
			"DelPrefix": func(ctx context.Context) error { _, err := s.all[0].DelPrefix(ctx, "7"); return err },
		} {
			for _, failing := range []string{"del", "members"} {
				s.failing.Store(nil)
				time.Sleep(20 * time.Second) // until a Del is repeated
				s.fill(7)
				s.failing.Store(&failing)
				if err := remove(s.t.Context()); !errors.Is(err, near.ErrStore) {
					s.t.Errorf("%s, %s: %v", what, failing, err)
				}
				if what == "DelPrefix" && failing == "del" {
					continue // the store has the value
				}
				s.database++
				taken(t, s.all[0], 7, &s.database, s.database)
			}
			s.failing.Store(nil)
			time.Sleep(20 * time.Second)
			s.server.cut(true)
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Second) // fake time
			if err := remove(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "removed, but") {
				s.t.Errorf("%s that ends too soon: %v", what, err)
			}
			cancel()
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c, err := near.New[int, int](plain{s}, s, near.Options[int, int]{})
		must(t, err)
		_, err = c.DelPrefix(t.Context(), "7")
		for _, err := range []error{c.Revoke(t.Context(), 7), err, c.Clear(t.Context())} {
			if !errors.Is(err, cache.ErrArgument) {
				t.Errorf("without a Fleet: %v", err)
			}
		}
		must(t, c.Close(t.Context()))
	})
}

// TestDelPrefixOfVersions checks that a removal of one version of a service is also one of what the versions beside it
// have, in the store and in memory, and of no other key.
func TestDelPrefixOfVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var all []*near.Cache[string, int]
		for _, schema := range []string{"v1", "v2"} {
			c, err := near.New[string, int](s, s, near.Options[string, int]{Prefix: "k:", Schema: schema})
			must(t, err)
			defer c.Close(context.Background())
			all = append(all, c)
		}
		time.Sleep(20 * time.Second)
		database := 1
		take := func(i int, key string, want int) {
			t.Helper()
			value, err := all[i].Take(t.Context(), key, func(context.Context) (int, error) { return database, nil })
			if value != want || err != nil {
				t.Errorf("version %d has %d for %s, %v, want %d", i+1, value, key, err, want)
			}
		}
		for i := range all {
			take(i, "a:1", 1)
			take(i, "a:2", 1)
			take(i, "b:1", 1)
		}
		database = 2
		if removed, err := all[0].DelPrefix(t.Context(), "a:"); removed != 4 || err != nil {
			t.Errorf("DelPrefix = %d, %v, want 4", removed, err)
		}
		for i := range all {
			take(i, "a:1", 2)
			take(i, "a:2", 2)
			take(i, "b:1", 1)
		}
		database = 3
		must(t, all[1].Revoke(t.Context(), "a:1"))
		for i := range all {
			take(i, "a:1", 3)
			take(i, "a:2", 2)
		}
	})
}
