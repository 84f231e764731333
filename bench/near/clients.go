package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// A client reads and writes users that are in Redis as JSON. Callers may share what get
// returns and must not change it.
type client struct {
	name  string
	get   func(ctx context.Context, id int) (*user, error)
	set   func(ctx context.Context, id int, u *user) error
	close func()
}

func key(id int) string { return fmt.Sprintf("users:%d", id) }

// nearCache returns an instance with a near cache.
func nearCache(addr string) (*near.Cache[int, *user], func(), error) {
	r, err := redis.New(context.Background(), redis.Options{Client: rueidis.ClientOption{InitAddress: []string{addr}}, Prefixes: []string{"users:"}})
	if err != nil {
		return nil, nil, err
	}
	c, err := near.New(r, r, near.Options[int, *user]{Prefix: "users:", Limit: 10_000, Expire: time.Hour})
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	for !c.Stats().Near.Serving {
		time.Sleep(time.Millisecond)
	}
	return c, func() { _ = c.Close(context.Background()); r.Close() }, nil
}

var errMissing = errors.New("the user is not in Redis")

func newNear(addr string) (client, error) {
	c, stop, err := nearCache(addr)
	if err != nil {
		return client{}, err
	}
	missing := func(context.Context) (*user, error) { return nil, errMissing }
	return client{
		name:  "near",
		get:   func(ctx context.Context, id int) (*user, error) { return c.Take(ctx, id, missing) },
		set:   c.Set,
		close: stop,
	}, nil
}

func newRueidis(addr string) (client, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		return client{}, err
	}
	return client{
		name: "rueidis DoCache, JSON",
		get: func(ctx context.Context, id int) (*user, error) {
			data, err := c.DoCache(ctx, c.B().Get().Key(key(id)).Cache(), time.Hour).AsBytes()
			if err != nil {
				return nil, err
			}
			u := new(user)
			return u, json.Unmarshal(data, u)
		},
		set: func(ctx context.Context, id int, u *user) error {
			data, err := json.Marshal(u)
			if err != nil {
				return err
			}
			return c.Do(ctx, c.B().Set().Key(key(id)).Value(string(data)).Build()).Error()
		},
		close: c.Close,
	}, nil
}

func newGoRedis(addr string, cached bool) client {
	o := &goredis.Options{Addr: addr, Protocol: 3}
	name := "go-redis, JSON"
	if cached {
		o.ClientSideCacheConfig = &goredis.ClientSideCacheConfig{MaxEntries: 10_000}
		name = "go-redis client-side caching, JSON"
	}
	c := goredis.NewClient(o)
	return client{
		name: name,
		get: func(ctx context.Context, id int) (*user, error) {
			data, err := c.Get(ctx, key(id)).Bytes()
			if err != nil {
				return nil, err
			}
			u := new(user)
			return u, json.Unmarshal(data, u)
		},
		set: func(ctx context.Context, id int, u *user) error {
			data, err := json.Marshal(u)
			if err != nil {
				return err
			}
			return c.Set(ctx, key(id), data, 0).Err()
		},
		close: func() { c.Close() },
	}
}

// clients returns one of each kind that keeps values locally.
func clients(addr string) (all []client, err error) {
	n, err := newNear(addr)
	if err != nil {
		return nil, err
	}
	r, err := newRueidis(addr)
	if err != nil {
		n.close()
		return nil, err
	}
	return []client{n, r, newGoRedis(addr, true)}, nil
}

func closeAll(all []client) {
	for _, c := range all {
		c.close()
	}
}
