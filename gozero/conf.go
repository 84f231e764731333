package gozero

//lint:file-ignore SA5008 these json tags are read by go-zero's conf, which has options of its own

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Conf is the settings of a cache in a service's YAML, as go-zero's conf.Load or
// conf.MustLoad reads them:
//
//	Users:
//	  Name: users
//	  Limit: 10000
//	  Expire: 5m
//
// Times are written with their units, such as 500ms, 30s, 5m or 1h30m: conf refuses a
// bare number with the error that it expects a string. [NewCache] refuses other wrong
// values, and says what to write instead.
//
// go-zero's conf silently ignores keys that it does not know, so a misspelt Limit means
// no limit. [NewCache] therefore logs a line for a cache without a limit.
//
// Only Name is required in YAML. In a Conf made in Go, fields left out are zero;
// go-zero's conf.FillDefault sets the defaults.
//
// The fields from Name to WhatIf are the options of the same names in [cache.Options],
// which says what they mean. Zero is the default of all but Jitter.
type Conf struct {
	Name      string        // in the statistics and in log lines
	Limit     int           `json:",optional"`
	MaxWeight uint64        `json:",optional"` // needs Weigh, which an [Option] sets
	Expire    time.Duration `json:",optional"`
	Idle      time.Duration `json:",optional"`
	Jitter    float64       `json:",default=0.05"` // as in go-zero's own caches
	Refresh   float64       `json:",optional"`
	Grace     time.Duration `json:",optional"`
	Patience  time.Duration `json:",optional"`
	Timeout   time.Duration `json:",optional"` // should be less than the Timeout of the service
	MaxLoads  int           `json:",optional"`
	Workers   int           `json:",optional"`
	HotKeys   int           `json:",optional"`
	Ages      bool          `json:",optional"`
	WhatIf    bool          `json:",optional"`

	// NotFoundExpire is how long the cache keeps the error of a load that says that the
	// database has no such row, at least 1ms; 0s, the default, means not at all. Those
	// are the errors of [NotFound]; for others, an [Option] sets Negative.
	NotFoundExpire time.Duration `json:",optional"`

	// Snapshot is a file that keeps the entries across restarts: NewCache restores
	// it, and the end of the service saves it, in at most 3 seconds, before the
	// cache is closed. Empty, the default, means none. NewCache makes its folder, for the
	// owner only, if there is none. No two caches may share a file, nor two processes.
	//
	// If the file cannot be restored or saved, the service logs that and goes on: with the
	// entries before the damage, or with the older file.
	//
	// Keys and values are written as JSON. That loses unexported fields, those tagged
	// json:"-", and in interfaces all types but maps, slices, strings, bools and
	// float64; pointers to one value come back as pointers to several. A value must
	// not be changed while it is in the cache. The Schema is the Go types of key and
	// value, unless an Option sets it: do that, and change it with the fields of V.
	//
	// An entry comes back with the time it had left, so until it expires it may be older
	// than what others wrote to the database meanwhile: set Expire. After a crash the
	// file is older, too.
	Snapshot string `json:",optional"`

	// SnapshotEvery is how often to save meanwhile too, at least 1s, so that a
	// crash leaves a file not older than that; 0s, the default, means at the end
	// only. It needs a Snapshot.
	SnapshotEvery time.Duration `json:",optional"`
}

// minTTL is the shortest time that package cache accepts.
const minTTL = time.Millisecond

// check returns an error for times that are too short. Package cache refuses them too,
// but its errors say what to write in Go and not in YAML.
func (c Conf) check() error {
	short := func(field string, d time.Duration) error {
		if d <= 0 || d >= minTTL {
			return nil
		}
		return fmt.Errorf("%w: %s is %v: want at least 1ms, such as 5s or 5m, or 0s for never", cache.ErrArgument, field, d)
	}
	return errors.Join(short("Expire", c.Expire), short("Idle", c.Idle),
		short("Grace", c.Grace), short("Patience", c.Patience), short("Timeout", c.Timeout),
		short("NotFoundExpire", c.NotFoundExpire), c.checkNotFound(), c.checkSnapshot())
}

// checkNotFound checks NotFoundExpire, which package cache cannot, as it gets a function.
func (c Conf) checkNotFound() error {
	if c.NotFoundExpire < 0 {
		return fmt.Errorf("%w: NotFoundExpire is %v: want a positive time, such as 10s, or 0s for not at all", cache.ErrArgument, c.NotFoundExpire)
	}
	return nil
}

// checkSnapshot returns an error at the start for what would prevent the save at the end.
func (c Conf) checkSnapshot() error {
	switch {
	case c.SnapshotEvery != 0 && c.SnapshotEvery < time.Second:
		return fmt.Errorf("%w: SnapshotEvery is %v: want at least 1s, such as 5m, or 0s for at the end only", cache.ErrArgument, c.SnapshotEvery)
	case c.SnapshotEvery > 0 && c.Snapshot == "":
		return fmt.Errorf("%w: SnapshotEvery is %v without Snapshot: want Snapshot too, a file", cache.ErrArgument, c.SnapshotEvery)
	}
	return nil
}

// makeFolder makes the folder of the Snapshot, which a new service does not have yet. An error
// at the start is better than none until the save at the end.
func (c Conf) makeFolder() error {
	if c.Snapshot == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Snapshot), 0o700); err != nil {
		return fmt.Errorf("%w: Snapshot is %s: its folder cannot be made: %w", cache.ErrArgument, c.Snapshot, err)
	}
	return nil
}

// options returns the options of a cache: those of c, as changed by opts.
func options[K comparable, V any](c Conf, opts []Option[K, V]) cache.Options[K, V] {
	o := cache.Options[K, V]{
		Name:      c.Name,
		Limit:     c.Limit,
		MaxWeight: c.MaxWeight,
		Expire:    c.Expire,
		Idle:      c.Idle,
		Jitter:    c.Jitter,
		Refresh:   c.Refresh,
		Grace:     c.Grace,
		Patience:  c.Patience,
		Timeout:   c.Timeout,
		MaxLoads:  c.MaxLoads,
		Workers:   c.Workers,
		HotKeys:   c.HotKeys,
		Ages:      c.Ages,
		WhatIf:    c.WhatIf,
	}
	if c.NotFoundExpire > 0 {
		o.Negative = NotFound(c.NotFoundExpire)
	}
	for _, set := range opts {
		if set != nil {
			set(&o)
		}
	}
	if o.Schema == "" && c.Snapshot != "" {
		o.Schema = fmt.Sprint(reflect.TypeFor[K](), " ", reflect.TypeFor[V]())
	}
	if o.OnPanic == nil {
		o.OnPanic = logPanic(o.Name)
	}
	return o
}
