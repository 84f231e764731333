package gozero_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero"
)

func TestNotFound(t *testing.T) {
	own, other := errors.New("no such document"), errors.New("no connection")
	keep := gozero.NotFound(time.Minute, own)
	for err, want := range map[error]time.Duration{
		sql.ErrNoRows:                           time.Minute,
		fmt.Errorf("user 7: %w", sql.ErrNoRows): time.Minute,
		fmt.Errorf("document 7: %w", own):       time.Minute,
		other:                                   0,
		errors.Join(other, context.Canceled):    0,
	} {
		if got := keep(err); got != want {
			t.Errorf("%v is kept for %v, want %v", err, got, want)
		}
	}
}

// TestNotFoundExpire checks that the setting reaches the cache, and that an Option overrides it.
func TestNotFoundExpire(t *testing.T) {
	fetches := 0
	ask := func(c *cache.Cache[string, int]) {
		_, err := c.Take("k", func() (int, error) { fetches++; return 0, sql.ErrNoRows })
		if err != sql.ErrNoRows {
			t.Errorf("Take = %v", err)
		}
	}
	conf := gozero.Conf{Name: "users", Limit: 10, NotFoundExpire: time.Minute}
	kept := closed(t, gozero.MustNewCache[string, int](conf))
	ask(kept)
	ask(kept)
	if fetches != 1 {
		t.Errorf("%d fetches of what is not there, want 1", fetches)
	}
	option := closed(t, gozero.MustNewCache(conf, func(o *cache.Options[string, int]) { o.Negative = nil }))
	ask(option)
	ask(option)
	if fetches != 3 {
		t.Errorf("%d fetches, want 2 more", fetches)
	}
}
