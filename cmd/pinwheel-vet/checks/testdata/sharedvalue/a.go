package sharedvalue

import (
	"maps"
	"slices"
	"sort"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type user struct {
	name string
	tags []string
}

func pointers(c *cache.Cache[string, *user]) {
	u, _ := c.Get("a")
	u.name = "b"    // want `u is what Get has returned, and other callers have it too: change a copy`
	u.tags[0] = "c" // want `u is what Get has returned`
	*u = user{}     // want `u is what Get has returned`
	changed := *u
	changed.name = "d"
	c.Set("a", &changed)

	v, err := c.Take("a", func() (*user, error) { return new(user), nil })
	if err == nil {
		sort.Strings(v.tags) // want `v is what Take has returned`
	}

	w, ok := c.Get("a")
	if !ok {
		w = new(user)
	}
	w.name = "its own, perhaps"
}

func slicesOf(c *cache.Cache[string, []int]) {
	s, _ := c.Get("a")
	s[0]++                      // want `s is what Get has returned`
	slices.Sort(s)              // want `s is what Get has returned`
	_ = append(s[:1], s[2:]...) // want `s is what Get has returned`
	_ = slices.Sorted(slices.Values(s))
	s2 := slices.Clone(s)
	s2[0]++
}

func mapsOf(c *cache.Cache[string, map[string]int]) {
	m, _ := c.Peek("a")
	delete(m, "a") // want `m is what Peek has returned`
	m["a"] = 1     // want `m is what Peek has returned`
	maps.Clone(m)["a"] = 2
}

func values(c *cache.Cache[string, user]) {
	u, _ := c.Get("a")
	u.name = "a copy"
	c.Set("a", u)
}
