package main

import (
	"go/format"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A helperFile is a new file of a package, with the functions that keep the meaning of methods
// which pinwheel's cache does not have.
type helperFile struct {
	pkg   string
	name  string // of the import of pinwheel's cache
	names map[string]bool
}

// helperFileOf returns the new file of the package of f.
func helperFileOf(f *file, all map[string]*helperFile) *helperFile {
	name := "pinwheel_move.go"
	if strings.HasSuffix(f.pkg.Name, "_test") && strings.HasSuffix(f.path, "_test.go") {
		name = "pinwheel_move_test.go"
	}
	path := filepath.Join(filepath.Dir(f.path), name)
	if all[path] == nil {
		imported := "cache"
		if f.pkg.Types.Scope().Lookup(imported) != nil {
			imported = "pinwheel"
		}
		all[path] = &helperFile{f.pkg.Name, imported, map[string]bool{}}
	}
	return all[path]
}

func (h *helperFile) add(name string) { h.names[name] = true }

func (h *helperFile) text() []byte {
	imports := map[string]bool{pinwheel: true}
	var body strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.names)) {
		body.WriteString("\n" + strings.ReplaceAll(helpers[name], "§", h.name+"."))
		for p, prefix := range map[string]string{"time": "time.", "fmt": "fmt.", "errors": "errors."} {
			if strings.Contains(helpers[name], prefix) {
				imports[p] = true
			}
		}
	}
	var out strings.Builder
	out.WriteString("package " + h.pkg + "\n\nimport (\n")
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		if p == pinwheel {
			continue
		}
		out.WriteString("\t\"" + p + "\"\n")
	}
	alias := ""
	if h.name != "cache" {
		alias = h.name + " "
	}
	out.WriteString("\n\t" + alias + "\"" + pinwheel + "\"\n)\n" + body.String())
	text, err := format.Source([]byte(out.String()))
	if err != nil {
		panic(err) // the texts below are constants
	}
	return text
}

// helpers are the functions, by name.
var helpers = map[string]string{
	"cacheSetFor": `
// cacheSetFor stores a value for d: 0 is the TTL of the cache, and less is for ever.
func cacheSetFor(c *§Cache[string, any], key string, value any, d time.Duration) {
	if d == 0 {
		c.Set(key, value)
		return
	}
	c.SetWithExpire(key, value, max(d, 0))
}
`,
	"cacheAdd": `
// cacheAdd stores a value for d, or returns an error if there is one: 0 is the TTL of the cache,
// and less is for ever.
func cacheAdd(c *§Cache[string, any], key string, value any, d time.Duration) error {
	var found bool
	if d == 0 {
		_, found = c.GetOrSet(key, value)
	} else {
		_, found = c.GetOrSetWithExpire(key, value, max(d, 0))
	}
	if found {
		return fmt.Errorf("Item %s already exists", key)
	}
	return nil
}
`,
	"cacheReplace": `
// cacheReplace replaces a value for d, or returns an error if there is none. A d of less than 0
// is for ever.
func cacheReplace(c *§Cache[string, any], key string, value any, d time.Duration) error {
	_, found := c.ComputeWithExpire(key, max(d, 0), func(_ any, found bool) (any, §Op) {
		if !found {
			return nil, §OpKeep
		}
		return value, §OpSet
	})
	if !found {
		return fmt.Errorf("Item %s doesn't exist", key)
	}
	return nil
}
`,
	"cacheIncrement": `
// cacheIncrement adds n to a number, whose deadline stays.
func cacheIncrement[N int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64 | uintptr | float32 | float64](c *§Cache[string, any], key string, n N) (N, error) {
	var sum N
	var err error
	c.Compute(key, func(old any, found bool) (any, §Op) {
		number, ok := old.(N)
		switch {
		case !found:
			err = fmt.Errorf("Item %s not found", key)
			return nil, §OpKeep
		case !ok:
			err = fmt.Errorf("The value for %s is not an %T", key, n)
			return nil, §OpKeep
		}
		sum, err = number+n, nil
		return sum, §OpSet
	})
	if err != nil {
		return 0, err
	}
	return sum, nil
}
`,
	"cacheDecrement": `
// cacheDecrement subtracts n from a number, whose deadline stays.
func cacheDecrement[N int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64 | uintptr | float32 | float64](c *§Cache[string, any], key string, n N) (N, error) {
	var rest N
	var err error
	c.Compute(key, func(old any, found bool) (any, §Op) {
		number, ok := old.(N)
		switch {
		case !found:
			err = fmt.Errorf("Item %s not found", key)
			return nil, §OpKeep
		case !ok:
			err = fmt.Errorf("The value for %s is not an %T", key, n)
			return nil, §OpKeep
		}
		rest, err = number-n, nil
		return rest, §OpSet
	})
	if err != nil {
		return 0, err
	}
	return rest, nil
}
`,
	"cacheGetWithExpiration": `
// cacheGetWithExpiration returns a value and its deadline, the zero time if it has none.
func cacheGetWithExpiration(c *§Cache[string, any], key string) (any, time.Time, bool) {
	e, ok := c.Entry(key)
	if !ok || e.TTL == 1<<63-1 {
		return e.Value, time.Time{}, ok
	}
	return e.Value, time.Now().Add(e.TTL), true
}
`,
	"cacheContains": `
// cacheContains reports whether a key has a value, which is no use of it.
func cacheContains[K comparable, V any](c *§Cache[K, V], key K) bool {
	_, ok := c.Peek(key)
	return ok
}
`,
	"cacheKeys": `
// cacheKeys returns the keys, in no order.
func cacheKeys[K comparable, V any](c *§Cache[K, V]) []K {
	keys := make([]K, 0, c.Len())
	for key := range c.All() {
		keys = append(keys, key)
	}
	return keys
}
`,
	"cacheOfSize": `
// cacheOfSize returns a cache for size entries, and refuses 0, which is no limit otherwise.
func cacheOfSize[K comparable, V any](size int) (*§Cache[K, V], error) {
	if size <= 0 {
		return nil, errors.New("must provide a positive size")
	}
	return §New(§Options[K, V]{Limit: size})
}
`,
	"cacheSetWithTTL": `
// cacheSetWithTTL stores a value for d; 0 is for ever, and less stores nothing.
func cacheSetWithTTL[K comparable, V any](c *§Cache[K, V], key K, value V, d time.Duration) {
	if d >= 0 {
		c.SetWithExpire(key, value, d)
	}
}
`,
}
