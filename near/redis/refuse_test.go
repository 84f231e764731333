package redis_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// tracker returns the line of CLIENT LIST for a connection that tracks. There may be none for
// a moment, while the source reconnects.
func tracker(t testing.TB, s *redistest.Server) string {
	t.Helper()
	return awaitClient(t, s, `flags=\w*B `)
}

// awaitClient waits for a line of CLIENT LIST that has the pattern, and returns it.
func awaitClient(t testing.TB, s *redistest.Server, pattern string) (line string) {
	t.Helper()
	lines := regexp.MustCompile(`(?m)^.* ` + pattern + `.*$`)
	await(t, pattern, func() (bool, any) {
		all := do(t, s, "CLIENT", "LIST")
		line = lines.FindString(all)
		return line != "", all
	})
	return line
}

// Catches: a server that cannot push changes and is accepted, and an error that does not say
// what to do.
func TestRefused(t *testing.T) {
	resp2 := server(t, "--rename-command", "HELLO", "")
	s, rights := server(t), strings.Join(documentedACL(t)[0], " ")
	do(t, s, "ACL", "SETUSER", "blind", "on", ">pw", "~*", "&*", "+@all", "-client|tracking")
	replica := server(t, "--replicaof", strings.Replace(s.Addr, ":", " ", 1))
	for _, c := range []struct {
		name string
		o    redis.Options
		addr string
		is   error
		says []string
	}{
		{"RESP2", redis.Options{}, resp2.Addr, redis.ErrNoTracking, []string{"Redis 6", "Options.Channel", resp2.Addr}},
		{"ACL", redis.Options{Client: rueidis.ClientOption{Username: "blind", Password: "pw"}}, s.Addr, nil, []string{"ACL SETUSER blind " + rights[strings.Index(rights, "+info "):]}},
		{"password", redis.Options{Client: rueidis.ClientOption{Username: "blind", Password: "wrong"}}, s.Addr, nil, []string{"WRONGPASS"}},
		{"replica", redis.Options{}, replica.Addr, nil, []string{"replica", "address of the master"}},
		{"nobody", redis.Options{}, "127.0.0.1:1", nil, []string{"127.0.0.1:1", "refused"}},
		{"no prefix", redis.Options{Prefixes: []string{}}, s.Addr, nil, []string{"Prefixes"}},
		{"overlap", redis.Options{Prefixes: []string{"user:", "item:", "user:1"}}, s.Addr, nil, []string{`"user:" covers "user:1"`}},
		{"reads from replicas", redis.Options{Client: rueidis.ClientOption{ReplicaOnly: true}}, s.Addr, nil, []string{"ReplicaOnly"}},
	} {
		if c.o.Prefixes == nil {
			c.o.Prefixes = []string{"user:"}
		}
		c.o.Client.InitAddress = []string{c.addr}
		err := refusal(t, c.name, c.o)
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v is not %v", c.name, err, c.is)
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, without %q", c.name, err, part)
			}
		}
	}
	if err := refusal(t, "no address", redis.Options{Prefixes: []string{"a"}}); !strings.Contains(err.Error(), "InitAddress") {
		t.Errorf("no address: %v", err)
	}
}

// Catches: a service that does not start while Redis is away, one that starts with a wrong
// password, and a New that outlives its context.
func TestConnectLater(t *testing.T) {
	s := server(t, "--requirepass", "pw")
	o := redis.Options{Prefixes: []string{"user:"}, ConnectLater: true, Client: rueidis.ClientOption{InitAddress: []string{s.Addr}, Password: "wrong"}}
	_ = refusal(t, "a wrong password", o)
	o.Client.Password = "pw"
	s.Kill()
	r := open(t, o, s.Addr)
	if err := r.Set(t.Context(), "user:1", found("1")); err == nil || !strings.Contains(err.Error(), "connect") {
		t.Errorf("a Set without Redis: %v, want why it was not reached", err)
	}
	o.Client.Password = "wrong"
	wrong := open(t, o, s.Addr)
	o.Client.Password = "pw"
	refused := neartest.NewRecorder(t, lag)
	defer neartest.Watch(wrong, refused)()
	lost := neartest.NewRecorder(t, lag)
	stop := neartest.Watch(r, lost)
	lost.Await(t, "Lost", func(told neartest.Told) bool { return len(told.Losts) > 0 })
	check(t, s.Restart())
	lost.Await(t, "service", func(told neartest.Told) bool { return told.Serving })
	check(t, r.Set(t.Context(), "user:1", found("1")))
	stop()
	refused.AwaitLost(t, "WRONGPASS")
	if err := wrong.Set(t.Context(), "user:1", found("1")); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("a Set with a wrong password: %v", err)
	}

	check(t, s.Pause())
	o.Client.ConnWriteTimeout, o.Client.Dialer.Timeout = time.Hour, time.Hour
	ctx, cancel := context.WithTimeoutCause(t.Context(), lag/10, errors.New("no more time"))
	defer cancel()
	if r, err := redis.New(ctx, o); err != nil {
		t.Errorf("a New whose context has ended, to connect later: %v", err)
	} else {
		r.Close()
	}
	o.ConnectLater = false
	if _, err := redis.New(ctx, o); err == nil || !strings.Contains(err.Error(), "no more time") {
		t.Errorf("a New whose context has ended: %v", err)
	}
	check(t, s.Resume())
}

// TestSecrets checks that no text about options and clients, and no error, has a password.
func TestSecrets(t *testing.T) {
	const secret = "hunter2"
	s := server(t, "--requirepass", secret)
	o := redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{
		InitAddress: []string{s.Addr}, Password: secret, Sentinel: rueidis.SentinelOption{Password: secret},
	}}
	r, err := redis.New(t.Context(), o)
	check(t, err)
	defer r.Close()
	url := o
	url.Client.InitAddress = []string{"redis://app:" + secret + "@" + s.Addr}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		for _, of := range []any{o, &o, url, r, struct{ store any }{r}} {
			if text := fmt.Sprintf(verb, of); strings.Contains(text, secret) {
				t.Errorf("%s of a %T: %s", verb, of, text)
			}
		}
	}
	if text := fmt.Sprint(o); !strings.Contains(text, s.Addr) || !strings.Contains(text, "user:") {
		t.Errorf("the options are %s", text)
	}
	for _, addr := range []string{url.Client.InitAddress[0], "rediss://:" + secret + "@h:1/0", "app:" + secret + "@h:1", "redis://h:1?password=" + secret} {
		o.Client.InitAddress = []string{s.Addr, addr}
		err := refusal(t, addr, o)
		if text := err.Error(); strings.Contains(text, secret) || !strings.Contains(text, "rueidis.ParseURL") {
			t.Errorf("%s: %s", addr, text)
		}
	}
}

//go:embed doc.go
var documentation string

// documentedACL returns the commands of the package documentation that give a user its rights:
// at a server, for a channel, at a Sentinel, and for keyspace notifications.
func documentedACL(t *testing.T) (commands [][]string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^//\t(ACL SETUSER .*)$`).FindAllStringSubmatch(documentation, -1) {
		commands = append(commands, strings.Fields(m[1]))
	}
	if len(commands) != 4 {
		t.Fatalf("the documentation has %q", commands)
	}
	return commands
}

// TestACL gives a user the rights of the documentation.
//
// Catches: one that is missing, also of what rueidis sends by itself.
func TestACL(t *testing.T) {
	t.Parallel() // it mostly waits
	acl := documentedACL(t)
	alone, channel := server(t), server(t)
	cluster, err := redistest.StartCluster(3)
	redistest.Started(t, cluster, err)
	failover, err := redistest.StartFailover(1)
	redistest.Started(t, failover, err)
	user := rueidis.ClientOption{Username: "app", Password: "password"}
	user.Dialer.KeepAlive = 20 * time.Millisecond // between pings
	shards, behind := user, user
	shards.ClusterOption.PreferClusterShards = true
	behind.Sentinel = rueidis.SentinelOption{MasterSet: redistest.MasterName, Username: "app", Password: "password"}
	do(t, channel, acl[1]...)
	do(t, failover.Sentinels[0], acl[2]...)
	for _, c := range []struct {
		name    string
		o       redis.Options
		seed    *redistest.Server
		servers []*redistest.Server
	}{
		{"server", redis.Options{Client: user}, alone, []*redistest.Server{alone}},
		{"channel", redis.Options{Client: user, Channel: "changes"}, channel, []*redistest.Server{channel}},
		{"cluster", redis.Options{Client: user}, cluster.Masters[0], cluster.Masters},
		{"cluster by shards", redis.Options{Client: shards}, cluster.Masters[0], cluster.Masters},
		{"Sentinel", redis.Options{Client: behind}, failover.Sentinels[0], []*redistest.Server{failover.Master}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range c.servers {
				do(t, s, acl[0]...)
			}
			c.o.Prefixes = []string{"user:"}
			r := open(t, c.o, c.seed.Addr)
			useAll(t, r, watch(t, r, lag))
			if c.name == "cluster by shards" {
				askElsewhere(t, r, cluster)
			}
			awaitClient(t, c.servers[0], `cmd=ping .*user=app`) // an idle connection of the user
			for _, s := range append([]*redistest.Server{c.seed}, c.servers...) {
				log, err := s.Do("ACL", "LOG")
				check(t, err)
				if refused, err := log.ToArray(); err != nil || len(refused) > 0 {
					t.Errorf("%s refused %s", s.Addr, log.String())
				}
			}
		})
	}
}

// useAll calls every method of the store.
func useAll(t *testing.T, r *redis.Redis, w *neartest.Recorder) {
	t.Helper()
	ctx := t.Context()
	w.TellsKey(t, "user:1", func() { check(t, r.Set(ctx, "user:1", found("one"))) })
	if got := get(t, r, "user:1"); string(got.Value) != "one" {
		t.Errorf("%+v", got)
	}
	check(t, r.Del(ctx, "user:1"))
	items, err := r.Lease(ctx, time.Hour, "user:2", "user:3")
	check(t, err)
	if ok, err := r.Fill(ctx, "user:2", items[0].Token, near.Item{State: near.Found, TTL: time.Hour}); !ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
	check(t, r.Release(ctx, "user:3", items[1].Token))
	check(t, r.Enroll(ctx, "user:", "me", time.Hour))
	if members, _, err := r.Members(ctx, "user:"); len(members) != 1 || err != nil {
		t.Errorf("members %q, %v", members, err)
	}
	check(t, r.Withdraw(ctx, "user:", "me"))
	if removed, err := r.DelPrefix(ctx, "user:"); removed != 1 || err != nil {
		t.Errorf("removed %d, %v", removed, err)
	}
}

// askElsewhere reads a key that is on its way from one master to another.
func askElsewhere(t *testing.T, r *redis.Redis, c *redistest.Cluster) {
	t.Helper()
	from, slot, err := c.Owner("user:1")
	check(t, err)
	to := c.Masters[0]
	if to == from {
		to = c.Masters[1]
	}
	set := func(at, other *redistest.Server, state string) {
		do(t, at, "CLUSTER", "SETSLOT", slot, state, do(t, other, "CLUSTER", "MYID"))
	}
	set(to, from, "IMPORTING")
	set(from, to, "MIGRATING")
	get(t, r, "user:1")
}

// Catches: a channel that brings no changes, also without tracking, or none after a reconnect;
// one that vouches for a replica; one that needs INFO.
func TestChannel(t *testing.T) {
	t.Parallel() // it mostly waits
	for name, s := range map[string]*redistest.Server{
		"RESP3": server(t), "RESP2": server(t, "--rename-command", "HELLO", ""), "no INFO": server(t, "--rename-command", "INFO", ""),
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, redis.Options{Channel: "changes"}, s.Addr)
			w := watch(t, r, lag)
			w.AwaitAgain(t, "the reconnect", func() { s.Kill(); check(t, s.Restart()) })
			w.TellsKey(t, "user:1", func() { check(t, r.Set(t.Context(), "user:1", found("1"))) })
			if name == "no INFO" {
				return
			}
			w.AwaitAgain(t, "a master again", func() {
				do(t, s, "REPLICAOF", "127.0.0.1", "1")
				w.AwaitLost(t, "replica")
				do(t, s, "REPLICAOF", "NO", "ONE")
			})
		})
	}
}
