package pairs

import (
	"fmt"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type options = cache.Options[int, value]

// drawOptions returns valid options, without the functions.
func drawOptions(d dice) options {
	o := options{
		Expire:       one(d, 0, 10*ms, 50*ms, time.Second),
		Jitter:       one(d, 0, 0, 0.3),
		Refresh:      one(d, 0, 0, 0.5),
		RefreshAfter: one(d, 0, 0, 0, 5*ms, 100*ms),
		Grace:        one(d, 0, 20*ms, time.Second),
		Timeout:      one(d, 0, 0, 40*ms, 200*ms),
		MaxLoads:     one(d, 0, 0, 1, 2),
		Policy:       one(d, cache.LRU, cache.Adaptive),
		Workers:      one(d, 0, 1, 2),
		Ages:         d.chance(20),
		HotKeys:      one(d, 0, 0, 0, 3),
		Schema:       one(d, "", "v1"),
	}
	if o.Refresh > 0 {
		o.RefreshAfter = 0
	}
	if d.chance(20) {
		o.Idle = 30 * ms
	}
	if o.Grace > 0 {
		o.Patience = one(d, 0, 5*ms, 30*ms)
	}
	if d.chance(30) {
		o.MaxWeight = one[uint64](d, 1, 5, 20)
	} else {
		o.Limit = one(d, 0, 1, 2, 4, 1000)
	}
	if d.chance(30) {
		o.Pause = func(failures int) time.Duration { return time.Duration(failures-1) * 10 * ms }
	}
	o.WhatIf = o.Limit > 0 && d.chance(5)
	return o
}

// text returns options as one would write them, but for the functions.
func text(o options) string {
	var fields []string
	add := func(name string, value any, set bool) {
		if set {
			fields = append(fields, fmt.Sprintf("%s: %v", name, value))
		}
	}
	add("Limit", o.Limit, o.Limit > 0)
	add("MaxWeight", o.MaxWeight, o.MaxWeight > 0)
	add("Expire", o.Expire, o.Expire > 0)
	add("Idle", o.Idle, o.Idle > 0)
	add("Jitter", o.Jitter, o.Jitter > 0)
	add("Refresh", o.Refresh, o.Refresh > 0)
	add("RefreshAfter", o.RefreshAfter, o.RefreshAfter > 0)
	add("Grace", o.Grace, o.Grace > 0)
	add("Patience", o.Patience, o.Patience > 0)
	add("Pause", "…", o.Pause != nil)
	add("Timeout", o.Timeout, o.Timeout > 0)
	add("MaxLoads", o.MaxLoads, o.MaxLoads > 0)
	add("Load", "…", o.Load != nil)
	add("LoadMany", "…", o.LoadMany != nil)
	add("Negative", "…", o.Negative != nil)
	add("OnRemove", "…", o.OnRemove != nil)
	add("OnRemoveSync", "…", o.OnRemoveSync != nil)
	add("Workers", o.Workers, o.OnRemove != nil && o.Workers > 0)
	add("Policy", o.Policy, o.Policy != cache.LRU)
	add("HotKeys", o.HotKeys, o.HotKeys > 0)
	add("Ages", o.Ages, o.Ages)
	add("WhatIf", o.WhatIf, o.WhatIf)
	add("Amend", "…", o.Amend != nil)
	return "{" + strings.Join(fields, ", ") + "}"
}
