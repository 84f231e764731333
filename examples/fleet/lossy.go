package main

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// A lossy is a source that breaks its word: it leaves out a share of the changes, and confirms that it has reported
// all. It leaves out all changes of a key for some seconds. After a single one the next read by another instance, which
// takes a lease, would have the key reported again.
type lossy struct {
	*redis.Redis
	share float64
}

func (l lossy) Watch(ctx context.Context, w near.Watcher) {
	l.Redis.Watch(ctx, lossyWatcher{w, l.share, maphash.MakeSeed()})
}

// A lossyWatcher hears what a lossy reports. It passes on all that a watcher of package near has besides.
type lossyWatcher struct {
	near.Watcher
	share float64
	seed  maphash.Seed
}

func (w lossyWatcher) Changed(keys ...string) {
	w.Watcher.Changed(slices.DeleteFunc(slices.Clone(keys), w.leavesOut)...)
}

func (w lossyWatcher) leavesOut(key string) bool {
	drawn := maphash.Comparable(w.seed, struct {
		key  string
		turn int64
	}{key, time.Now().Unix() / 5})
	return float64(drawn) < w.share*math.MaxUint64
}

func (w lossyWatcher) MaxLag() time.Duration { return near.MaxLag(w.Watcher) }

func (w lossyWatcher) Except(untold func(key string) bool) { near.Except(w.Watcher, untold) }

func (w lossyWatcher) ChangedIf(changed func(key string) bool) { near.ChangedIf(w.Watcher, changed) }

// parseShare reads a share such as 1%.
func parseShare(text string) (share float64, err error) {
	number, percent := strings.CutSuffix(text, "%")
	if share, err = strconv.ParseFloat(number, 64); percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%q: want a share of the changes, such as 1%%", text)
	}
	return share, nil
}
