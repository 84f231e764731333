package redis_test

import (
	"bytes"
	"errors"
	"log"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/redis/rueidis"
)

// Catches: prefixes that mean other keys, beats and misses that are told as changes, changes of
// another database, a source that says nothing about what is missing.
func TestNotifications(t *testing.T) {
	var said bytes.Buffer
	log.SetOutput(&said)
	s := server(t, append(notTracking, "--notify-keyspace-events", "KAm")...)
	odd := redis.Options{Prefixes: []string{`a*b[c]?\`, "b"}, Client: rueidis.ClientOption{SelectDB: 3}}
	prefixes, all := open(t, odd, s.Addr), open(t, redis.Options{Prefixes: []string{""}}, s.Addr)
	log.SetOutput(os.Stderr)
	if n := strings.Count(said.String(), "FLUSHALL"); n != 2 || !prefixes.Partial() {
		t.Errorf("Partial is %t, and said was %d times: %s", prefixes.Partial(), n, said.String())
	}
	w, every := watch(t, prefixes, lag), watch(t, all, lag)
	for _, key := range []string{`a*b[c]?\1`, "b\x00\xff"} {
		w.TellsKey(t, key, func() {
			do(t, s, "EVAL", "redis.call('SELECT', 3) redis.call('SET', 'axxbc?1', '') redis.call('GET', 'bmiss') redis.call('SET', ARGV[1], '')", "0", key)
		})
	}
	every.TellsKey(t, "here", func() { do(t, s, "SET", "here", "") })
	began := time.Now()
	every.Await(t, "beats", func(told neartest.Told) bool { return told.AsOf.After(began.Add(lag)) })
	every.TellsKey(t, "last", func() { do(t, s, "GET", "miss"); do(t, s, "SET", "last", "") })
	for of, want := range map[*neartest.Recorder][]string{w: {`a*b[c]?\1`, "b\x00\xff"}, every: {"here", "last"}} {
		if got := slices.Compact(slices.Sorted(slices.Values(of.Told().Keys))); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	}
}

// Catches: a server that does not tell of all changes and is accepted, at the beginning or later;
// an error that does not say what to set.
func TestSettingLacks(t *testing.T) {
	s := server(t, notTracking...)
	for _, c := range []struct{ setting, right, lacks string }{
		{"", "+config", `"Kg$lshzxetd"`},
		{"EA", "+config", `"K"`},
		{"AKE", "+config", ""},
		{"Kg$lshzxt", "+config", `"ed"`},
		{"", "-config", `"`},
		{"Kgx", "-config", `"$"`},
		{"K$x", "-config", `"g"`},
		{"Kg$", "-config", `"x"`},
		{"Kg$x", "-config", ""},
	} {
		do(t, s, "CONFIG", "SET", "notify-keyspace-events", c.setting)
		do(t, s, "ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-client|tracking", c.right)
		r, err := redis.New(t.Context(), redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{InitAddress: []string{s.Addr}, Username: "app", Password: "pw"}})
		if err == nil {
			r.Close()
		}
		if (err == nil) != (c.lacks == "") || err != nil && (!errors.Is(err, redis.ErrNoTracking) || !strings.Contains(err.Error(), "lacks "+c.lacks) || !strings.Contains(err.Error(), "CONFIG SET notify-keyspace-events KA")) {
			t.Errorf("%q with %s: %v, want that it lacks %s", c.setting, c.right, err, c.lacks)
		}
	}
	do(t, s, "CONFIG", "SET", "notify-keyspace-events", "KA")
	w := watch(t, open(t, redis.Options{}, s.Addr), lag)
	w.AwaitAgain(t, "the setting", func() {
		do(t, s, "CONFIG", "SET", "notify-keyspace-events", "Ex")
		w.AwaitLost(t, "notify-keyspace-events lacks")
		do(t, s, "CONFIG", "SET", "notify-keyspace-events", "KA")
	})
}

// Catches: a test of what is heard that begins before the subscription.
func TestLateSubscription(t *testing.T) {
	p := proxy(t, server(t, modes["notifications"]...))
	defer p.Begin(func(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
		return func(data []byte) error {
			if bytes.Contains(data, []byte("PSUBSCRIBE")) {
				time.Sleep(50 * time.Millisecond)
			}
			return write(data)
		}
	}, neartest.ToServer)()
	open(t, redis.Options{}, p.Addr)
}

// Catches: an own key that a full server evicts first (volatile-ttl), or that stays when its
// session has ended.
func TestOwnKeyOfASession(t *testing.T) {
	s := server(t, append(notTracking, "--notify-keyspace-events", "KA")...)
	w := neartest.NewRecorder(t, lag)
	stop := neartest.Watch(open(t, redis.Options{}, s.Addr), w)
	w.Await(t, "service", func(told neartest.Told) bool { return told.Serving })
	keys, err := s.Do("EVAL", "local all = redis.call('KEYS', 'near:beat:*') for i, key in ipairs(all) do all[i] = redis.call('PTTL', key) end return all", "0")
	check(t, err)
	left, err := keys.AsIntSlice()
	if err != nil || len(left) != 1 || time.Duration(left[0])*time.Millisecond < 23*time.Hour {
		t.Errorf("the own keys live for %v, %v; want one, for a day", left, err)
	}
	stop()
	if n := do(t, s, "DBSIZE"); n != "0" {
		t.Errorf("%s keys are left", n)
	}
}

// Catches: a right that the documentation lacks, or has without need; an error that does not name
// it.
func TestACLOfNotifications(t *testing.T) {
	acl := documentedACL(t)
	s := server(t, "--notify-keyspace-events", "KA")
	o := redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{Username: "app", Password: "password"}}
	allow := func(rights []string) {
		do(t, s, "ACL", "SETUSER", "app", "reset")
		do(t, s, acl[0]...)
		do(t, s, append([]string{"ACL", "SETUSER", "app", "-client|tracking"}, rights...)...)
		do(t, s, "ACL", "LOG", "RESET")
	}
	rights := acl[3][3:]
	allow(rights)
	r := open(t, o, s.Addr)
	useAll(t, r, watch(t, r, lag))
	refused, err := s.Do("ACL", "LOG")
	check(t, err)
	entries, err := refused.ToArray()
	check(t, err)
	for _, entry := range entries {
		if of, err := entry.AsStrMap(); err != nil || of["object"] != "client|tracking" && of["object"] != "config|get" {
			t.Errorf("refused: %s", entry.String())
		}
	}
	for i, right := range rights {
		allow(slices.Delete(slices.Clone(rights), i, i+1))
		o.Client.InitAddress = []string{s.Addr}
		if err := refusal(t, "without "+right, o); !errors.Is(err, redis.ErrNoTracking) || !strings.Contains(err.Error(), "ACL SETUSER app "+strings.Join(rights, " ")) {
			t.Errorf("without %s: %v", right, err)
		}
	}
}
