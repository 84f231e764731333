package gozero_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// TestRing checks that keys are read from the server on which go-zero keeps them, by
// weight, and that changes of all servers are told.
func TestRing(t *testing.T) {
	all := []*redistest.Server{server(t), server(t), server(t)}
	ring := nodes(all[0].Addr, all[1].Addr, all[2].Addr)
	ring[1].Weight = 30
	ring[2].Weight = 0
	c, theirs := newNear(t, gozero.Conf{}, ring), plain(ring)
	const keys = 100
	changed := func(i int) string { return fmt.Sprint("cache:", i) }
	for value := range 3 {
		for i := range keys {
			check(t, theirs.Set(changed(i), value))
		}
		await(t, "all to be served anew", func() bool {
			before, asked := hits(t), reads(t, all[0])+reads(t, all[1])
			for i := range keys {
				got := -1
				check(t, c.Take(&got, changed(i), nil))
				if got != value {
					return false
				}
			}
			return hits(t) == before+keys && reads(t, all[0])+reads(t, all[1]) == asked
		})
	}
	if reads(t, all[0]) == 0 || reads(t, all[1]) == 0 || reads(t, all[2]) != 0 {
		t.Errorf("reads of each: %d, %d, %d", reads(t, all[0]), reads(t, all[1]), reads(t, all[2]))
	}
	for i := range keys {
		check(t, theirs.Del(changed(i)))
	}
	await(t, "all to be forgotten", func() bool {
		for i := range keys {
			if c.Get(changed(i), new(int)) != errNotFound {
				return false
			}
		}
		return true
	})
}

// TestOneAway checks that keys of other servers stay in memory while one is away.
func TestOneAway(t *testing.T) {
	there, away := server(t), server(t)
	ring := nodes(there.Addr, away.Addr)
	c, theirs := newNear(t, gozero.Conf{}, ring), plain(ring)
	stays := ""
	for i := 0; stays == ""; i++ {
		key := fmt.Sprint("cache:", i)
		check(t, theirs.Set(key, 1))
		if do(t, there, "EXISTS", key) == "1" {
			stays = key
		}
	}
	away.Kill()
	await(t, "a time without a read", func() bool {
		check(t, c.Take(new(int), stays, nil))
		before := reads(t, there)
		for range 30 {
			check(t, c.Take(new(int), stays, nil))
			time.Sleep(maxLag / 10)
		}
		return reads(t, there) == before
	})
}

// TestCluster checks that all servers of a cluster are watched.
func TestCluster(t *testing.T) {
	cluster, err := redistest.StartCluster(3)
	redistest.Started(t, cluster, err)
	there := nodes(cluster.Masters[0].Addr + ", " + cluster.Masters[1].Addr)
	there[0].Type = "cluster"
	c, theirs := newNear(t, gozero.Conf{}, there), plain(there)
	for i := range 30 {
		key := fmt.Sprint("cache:", i)
		check(t, theirs.Set(key, 1))
		await(t, "a hit", func() bool {
			before := hits(t)
			check(t, c.Take(new(int), key, nil))
			return hits(t) > before
		})
		check(t, theirs.Set(key, 2))
		await(t, "the change", func() bool {
			var got int
			check(t, c.Take(&got, key, nil))
			return got == 2
		})
	}
}

// TestDelPrefix checks that all keys with a prefix leave all servers and the memory of all instances, and others stay.
func TestDelPrefix(t *testing.T) {
	one, other := server(t), server(t)
	ring := nodes(one.Addr, other.Addr)
	c, theirs := newNear(t, gozero.Conf{}, ring), newNear(t, gozero.Conf{}, ring)
	const keys = 30
	value := 1
	take := func(c *gozero.Cache, key string) (got int) {
		check(t, c.Take(&got, key, func(v any) error { *v.(*int) = value; return nil }))
		return got
	}
	for i := range keys {
		for _, key := range []string{fmt.Sprint("cache:user:", i), fmt.Sprint("cache:order:", i)} {
			take(theirs, key)
			take(theirs, key) // from memory, mostly
		}
	}
	value = 2
	if removed, err := c.DelPrefix(t.Context(), "cache:user:"); removed != keys || err != nil {
		t.Errorf("removed %d, %v, want %d", removed, err, keys)
	}
	for i := range keys {
		if got := take(theirs, fmt.Sprint("cache:user:", i)); got != 2 {
			t.Errorf("user %d is %d", i, got)
		}
		if got := take(theirs, fmt.Sprint("cache:order:", i)); got != 1 {
			t.Errorf("order %d is %d", i, got)
		}
	}
	take(theirs, "cache:user:0")
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("left")
	go func() { // somebody leaves while it waits for what others may have in memory
		for do(t, one, "EXISTS", "cache:user:0")+do(t, other, "EXISTS", "cache:user:0") != "00" {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		cancel(left)
	}()
	slow := newNear(t, gozero.Conf{MaxLag: time.Hour}, ring)
	if removed, err := slow.DelPrefix(ctx, "cache:user:"); removed == 0 || err != left {
		t.Errorf("somebody who left got %d, %v", removed, err)
	}
	other.Kill()
	if _, err := c.DelPrefix(t.Context(), "cache:"); err == nil || !strings.Contains(err.Error(), other.Addr) || strings.Contains(err.Error(), one.Addr) {
		t.Errorf("without %s: %v", other.Addr, err)
	}
}
