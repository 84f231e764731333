package redis_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/redis/rueidis"
)

// Catches: a swapped or emptied database that is not noticed, as no notification tells of it; the
// key of a watch that is taken for one of the service.
func TestKeyspaceNotices(t *testing.T) {
	s := server(t, redistest.WithoutTracking...)
	for name, o := range map[string]redis.Options{"some keys": {}, "all keys": {Prefixes: []string{""}}} {
		t.Run(name, func(t *testing.T) {
			w := neartest.Record(t, open(t, o, s.Addr), lag)
			for _, all := range [][]string{{"SWAPDB", "0", "1"}, {"FLUSHALL"}, {"FLUSHDB", "ASYNC"}} {
				w.AwaitAgain(t, all[0], func() { do(t, s, all...) })
			}
			do(t, s, "SET", "user:1", "1")
			w.AwaitKey(t, "user:1")
			w.AwaitNow(t)
			w.Lock()
			defer w.Unlock()
			if len(w.Losts) > 0 {
				t.Errorf("lost %v", w.Losts)
			}
			if i := slices.IndexFunc(w.Keys, func(key string) bool { return strings.HasPrefix(key, "pinwheel:") }); i >= 0 {
				t.Errorf("told of %q", w.Keys[i])
			}
		})
	}
}

// Catches: a database other than 0 whose changes are not told, or those of database 0 in its place.
func TestKeyspaceOfAnotherDatabase(t *testing.T) {
	s := server(t, redistest.WithoutTracking...)
	r := open(t, redis.Options{Client: rueidis.ClientOption{SelectDB: 3}}, s.Addr)
	w := neartest.Record(t, r, lag)
	do(t, s, "SET", "user:other", "1")
	check(t, r.Set(t.Context(), "user:1", found("1")))
	w.AwaitKey(t, "user:1")
	if slices.Contains(w.Keys, "user:other") {
		t.Error("told of a key of database 0")
	}
}

// Catches: a server that does not tell of all changes and is accepted, or goes on to vouch when it is
// told to stop; an error that does not say what to do.
func TestKeyspaceSetting(t *testing.T) {
	s := server(t, redistest.WithoutTracking...)
	set := func(kinds string) { do(t, s, "CONFIG", "SET", "notify-keyspace-events", kinds) }
	refused := func(kinds string, o redis.Options) {
		t.Helper()
		o.Client.InitAddress, o.Prefixes = []string{s.Addr}, []string{"user:"}
		r, err := redis.New(t.Context(), o)
		if err == nil {
			r.Close()
			t.Errorf("%q is accepted", kinds)
		} else if !strings.Contains(err.Error(), "CONFIG SET notify-keyspace-events KA") {
			t.Errorf("%q: %v", kinds, err)
		}
	}
	const enough = "Kg$lszxe"
	for i := range enough {
		kinds := enough[:i] + enough[i+1:]
		set(kinds)
		refused(kinds, redis.Options{})
	}
	set("EA")
	refused("EA", redis.Options{})

	// A user who may not read the setting.
	do(t, s, "ACL", "SETUSER", "blind", "on", ">pw", "~*", "&*", "+@all", "-client|tracking", "-config|get")
	blind := redis.Options{Client: rueidis.ClientOption{Username: "blind", Password: "pw"}}
	for _, kinds := range []string{"", "Kg", "K$"} {
		set(kinds)
		refused(kinds, blind)
	}

	set(enough)
	w := neartest.Record(t, open(t, redis.Options{}, s.Addr), lag)
	byBlind := neartest.Record(t, open(t, blind, s.Addr), lag)
	set("Kg$lszx") // evictions go untold
	w.Await(t, "Lost", func() bool { return !w.Served })
	byBlind.AwaitNow(t)
	set("")
	byBlind.Await(t, "Lost", func() bool { return !byBlind.Served })
	set("KA")
	for _, w := range []*neartest.Recorder{w, byBlind} {
		w.Await(t, "the setting to be back", func() bool { return w.Served })
	}
}

// Catches: a server that speaks RESP2 only and tells of changes, but is refused; one whose way of
// telling is not reported.
func TestKeyspaceByRESP2(t *testing.T) {
	s := server(t, "--rename-command", "HELLO", "", "--notify-keyspace-events", "AK", "--requirepass", "pw")
	o := redis.Options{Client: rueidis.ClientOption{Password: "pw"}}
	r := open(t, o, s.Addr)
	w := neartest.Record(t, r, lag)
	check(t, r.Set(t.Context(), "user:1", found("1")))
	w.AwaitKey(t, "user:1")
	w.AwaitNow(t)
	var n stats.Near
	if r.Report(&n); !n.Notified {
		t.Error("not reported")
	}
	o.Client.Password, o.Client.InitAddress, o.Prefixes = "wrong", []string{s.Addr}, []string{""}
	if _, err := redis.New(t.Context(), o); err == nil || errors.Is(err, redis.ErrNoTracking) {
		t.Errorf("a wrong password: %v", err)
	}
}

// Catches: a full server that is refused its beats, so that nothing is served.
func TestKeyspaceOfAFullServer(t *testing.T) {
	s := server(t, append([]string{"--maxmemory-policy", "noeviction"}, redistest.WithoutTracking...)...)
	w := neartest.Record(t, open(t, redis.Options{}, s.Addr), lag)
	do(t, s, "CONFIG", "SET", "maxmemory", "1")
	w.AwaitNow(t)
	if len(w.Losts) > 0 {
		t.Errorf("lost %v", w.Losts)
	}
}
