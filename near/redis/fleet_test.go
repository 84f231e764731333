package redis_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// Catches: a list whose age is that of one that the server has lost.
func TestLostList(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	enrolled := func() time.Duration {
		check(t, r.Enroll(t.Context(), "user:", "me", time.Hour))
		_, age, err := r.Members(t.Context(), "user:")
		check(t, err)
		return age
	}
	var before time.Duration
	await(t, "an age", func() (bool, any) { before = enrolled(); return before > time.Second, before })
	do(t, s, "FLUSHALL")
	if age := enrolled(); age >= before {
		t.Errorf("after FLUSHALL the age is %v, before it %v", age, before)
	}
	do(t, s, "HSET", "near:list:user:", "", "99999999999999") // by a clock that was set back since
	if age := enrolled(); age < 0 {
		t.Errorf("the list is %v old", age)
	}
}

// Catches: a step of SCAN whose keys stay; a key of another type.
func TestDelPrefix(t *testing.T) {
	for _, channel := range []string{"", "changes"} {
		s := server(t)
		r := open(t, redis.Options{Channel: channel}, s.Addr)
		const many = 3_000
		do(t, s, "EVAL", "for i = 1, ARGV[1] do redis.call('SET', 'user:' .. i, i) end", "0", strconv.Itoa(many))
		do(t, s, "HSET", "user:hash", "f", "1")
		if removed, err := r.DelPrefix(t.Context(), "user:"); removed != many+1 || err != nil {
			t.Errorf("removed %d, %v", removed, err)
		}
	}
}

// Catches: a master whose keys stay; one that is away and not named; the keys of the others, which stay then.
func TestDelPrefixInACluster(t *testing.T) {
	t.Parallel() // it mostly waits
	c, err := redistest.StartCluster(3)
	redistest.Started(t, c, err)
	r := open(t, redis.Options{}, c.Masters[0].Addr)
	watch(t, r, lag)
	fill := func(n int) {
		for i := range n {
			check(t, r.Set(t.Context(), "user:"+strconv.Itoa(i), found("v")))
		}
	}
	fill(1_000)
	if removed, err := r.DelPrefix(t.Context(), "user:"); removed != 1_000 || err != nil {
		t.Errorf("removed %d, %v", removed, err)
	}
	fill(1_000)
	away := c.Masters[2]
	away.Kill()
	removed, err := r.DelPrefix(t.Context(), "user:")
	if err == nil || !strings.Contains(err.Error(), away.Addr) || strings.Contains(err.Error(), c.Masters[0].Addr) || removed < 500 || removed > 800 {
		t.Errorf("without %s: removed %d, %v", away.Addr, removed, err)
	}
}

// Catches: a sweep that waits for ever for a server that does not answer.
func TestDelPrefixWithoutAnAnswer(t *testing.T) {
	p := proxy(t, server(t))
	r, err := redis.New(t.Context(), redis.Options{Prefixes: []string{"user:"}, Client: rueidis.ClientOption{
		InitAddress: []string{p.Addr}, ConnWriteTimeout: time.Second,
	}})
	check(t, err)
	defer r.Close()
	defer p.Begin(func(_ <-chan struct{}, write func([]byte) error) func([]byte) error {
		return func(data []byte) error {
			if bytes.Contains(data, []byte("SCAN")) {
				return nil
			}
			return write(data)
		}
	}, neartest.ToServer)()
	if _, err := r.DelPrefix(t.Context(), "user:"); err == nil || !strings.Contains(err.Error(), "no answer for 1s") {
		t.Errorf("without an answer: %v", err)
	}
}

// Catches: a sweep of a server that was a replica meanwhile, so that its keys are those of another one.
func TestDelPrefixOfAReplica(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	do(t, s, "EVAL", "for i = 1, 100000 do redis.call('SET', 'other:' .. i, i) end", "0")
	for end := time.Now().Add(time.Minute); ; {
		do(t, s, "CONFIG", "RESETSTAT")
		swept := make(chan error, 1)
		go func() {
			_, err := r.DelPrefix(t.Context(), "user:")
			swept <- err
		}()
		await(t, "the sweep", func() (bool, any) { return strings.Contains(do(t, s, "INFO", "commandstats"), "cmdstat_scan"), nil })
		do(t, s, "REPLICAOF", "127.0.0.1", "1")
		do(t, s, "REPLICAOF", "NO", "ONE")
		tooSoon := len(swept) > 0
		err := <-swept
		if err != nil && strings.Contains(err.Error(), "replica") {
			return
		}
		if !tooSoon || err != nil || time.Now().After(end) {
			t.Fatalf("a server that was a replica meanwhile was swept: %v", err)
		}
	}
}
