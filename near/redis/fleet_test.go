package redis_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// TestLists checks who is on a list, for how long, and that it begins anew when the server has lost it.
//
// Catches: a member that stays; a list whose age is that of one that is lost.
func TestLists(t *testing.T) {
	s := server(t)
	r := open(t, redis.Options{}, s.Addr)
	w := watch(t, r, lag)
	members := func(list string) (all []string, age time.Duration) {
		all, age, err := r.Members(t.Context(), list)
		check(t, err)
		slices.Sort(all)
		return all, age
	}
	if all, age := members("user:"); len(all) > 0 || age > 0 {
		t.Errorf("at first: %q for %v", all, age)
	}
	check(t, r.Enroll(t.Context(), "user:", "a b", time.Hour))
	check(t, r.Enroll(t.Context(), "user:", "soon", time.Second))
	check(t, r.Enroll(t.Context(), "user:", "c", time.Hour))
	check(t, r.Enroll(t.Context(), "user:", "c", 2*time.Hour))
	check(t, r.Enroll(t.Context(), "user:other", "d", time.Hour))
	await(t, "the end of a member", func() (bool, any) {
		all, age := members("user:")
		return slices.Equal(all, []string{"a b", "c"}) && age >= time.Second, fmt.Sprint(all, age)
	})
	check(t, r.Withdraw(t.Context(), "user:", "a b"))
	check(t, r.Withdraw(t.Context(), "user:", "nobody"))
	if all, _ := members("user:"); !slices.Equal(all, []string{"c"}) {
		t.Errorf("after Withdraw: %q", all)
	}
	_, before := members("user:")
	w.awaitAgain(t, "FLUSHALL", func() { do(t, s, "FLUSHALL") })
	check(t, r.Enroll(t.Context(), "user:", "c", time.Hour))
	if _, age := members("user:"); age >= before {
		t.Errorf("a list that was lost has the age %v, before it %v", age, before)
	}
	do(t, s, "HSET", "near:list:user:", "", "99999999999999") // by a clock that was set back since
	check(t, r.Enroll(t.Context(), "user:", "c", time.Hour))
	if _, age := members("user:"); age < 0 {
		t.Errorf("the list is %v old", age)
	}
	if n := count(w, "near:list:user:"); n > 0 {
		t.Errorf("the source tells of the list %d times", n)
	}
}

// TestDelPrefix checks that all keys with a prefix go, whatever they have, and no others, and that each is told.
//
// Catches: a prefix that is a pattern; a step of SCAN whose keys stay; the own keys of instances.
func TestDelPrefix(t *testing.T) {
	for _, channel := range []string{"", "changes"} {
		s := server(t)
		r := open(t, redis.Options{Channel: channel}, s.Addr)
		w := watch(t, r, lag)
		const many = 3_000
		do(t, s, "EVAL", "for i = 1, ARGV[1] do redis.call('SET', 'user:[a]' .. i, i) end", "0", strconv.Itoa(many))
		do(t, s, "MSET", "user:a1", "stays", "user:[b]", "stays", "other:[a]", "stays")
		do(t, s, "HSET", "user:[a]hash", "f", "1")
		items, err := r.Lease(t.Context(), time.Hour, "user:[a]leased")
		check(t, err)
		check(t, r.Enroll(t.Context(), "user:", "me", time.Hour))
		removed, err := r.DelPrefix(t.Context(), "user:[a]")
		if removed != many+2 || err != nil {
			t.Fatalf("removed %d, %v", removed, err)
		}
		if filled, err := r.Fill(t.Context(), "user:[a]leased", items[0].Token, found("old")); filled || err != nil {
			t.Errorf("the lease holds: %t, %v", filled, err)
		}
		w.await(t, "all keys", func() bool {
			return countLocked(w, "user:[a]"+strconv.Itoa(many)) > 0 && countLocked(w, "user:[a]hash") > 0
		})
		if removed, err = r.DelPrefix(t.Context(), ""); removed != 3 || err != nil {
			t.Errorf("of all: removed %d, %v, want 3", removed, err)
		}
		if all, _, err := r.Members(t.Context(), "user:"); len(all) != 1 || err != nil {
			t.Errorf("the list has %q, %v", all, err)
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
