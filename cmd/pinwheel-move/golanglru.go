package main

import "go/ast"

const (
	noOrder   = "pinwheel's cache has no order from old to new"
	noEvicted = "pinwheel does not say whether it evicted an entry"
	noEvict   = "pinwheel's OnRemove runs in another goroutine, perhaps after the call returned, and gets replaced values too"
)

var golangLRU = &library{
	name:    "golang-lru v2",
	path:    "github.com/hashicorp/golang-lru/v2",
	becomes: map[string]*becomes{"Cache": plainCache},
	rules: map[string]rule{
		"New":          {"`New` with `Limit`, or the function `cacheOfSize` for a size that is not a constant", true, newLRU},
		"NewWithEvict": {"as `New`, if the function is nil", true, newLRUWithEvict},
		"New2Q":        stays("Policy: cache.Adaptive withstands scans too, with other rules"),
		"New2QParams":  stays("Policy: cache.Adaptive withstands scans too, with other rules"),
		"Cache.Resize": {"`Resize`, if the result is not used and the size is a constant above 0", false, func(c *call) string {
			if v, ok := c.value(c.expr.Args[0]); !ok || v <= 0 || !c.unused() {
				return "pinwheel's Resize returns an error in place of a number, and 0 is no limit"
			}
			c.asStatement()
			c.rename("Resize")
			return ""
		}},
		"Cache.GetOldest":    stays(noOrder),
		"Cache.RemoveOldest": stays(noOrder),
		"Cache.ContainsOrAdd": {"`GetOrSet`, if `evicted` is not used", false, func(c *call) string {
			return lruOrAdd(c, 0)
		}},
		"Cache.PeekOrAdd": {"`GetOrSet`, if `previous` and `evicted` are not used", false, func(c *call) string {
			return lruOrAdd(c, 1)
		}},
	},
}

var expirableLRU = &library{
	name:    "expirable",
	path:    "github.com/hashicorp/golang-lru/v2/expirable",
	becomes: map[string]*becomes{"LRU": plainCache},
	rules: map[string]rule{
		"NewLRU":           {"`Must` with `Limit` and `Expire`, if the function is nil", true, newExpirable},
		"LRU.Resize":       stays("pinwheel's Resize returns an error in place of a number"),
		"LRU.GetOldest":    stays(noOrder),
		"LRU.RemoveOldest": stays(noOrder),
	},
}

func init() {
	for lib, t := range map[*library]string{golangLRU: "Cache", expirableLRU: "LRU"} {
		for name, r := range map[string]rule{
			"Add":      toUnused("Set"),
			"Get":      to("Get"),
			"Peek":     to("Peek"),
			"Contains": toHelper("cacheContains", "", ""),
			"Remove":   to("Del"),
			"Purge":    to("Clear"),
			"Len":      to("Len"),
			"Keys":     stays(noOrder),
			"Values":   stays(noOrder),
		} {
			lib.rules[t+"."+name] = r
		}
	}
}

func newLRU(c *call) string {
	size := c.expr.Args[0]
	if v, known := c.value(size); known && v > 0 && v <= 1<<31-1 {
		o := options{call: c}
		o.limit(size, false)
		return o.write("New", c.typeArgs())
	}
	if c.pkg.Types.Scope().Lookup("cacheOfSize") != nil {
		return "the package has its own cacheOfSize"
	}
	c.replace(c.unit, c.sel.Pos(), c.sel.End(), "cacheOfSize").helper = "cacheOfSize"
	if len(c.expr.Args) > 1 {
		c.dropArgs(1)
	}
	return ""
}

func newLRUWithEvict(c *call) string {
	if !c.isNil(c.expr.Args[1]) {
		return noEvict
	}
	return newLRU(c)
}

func newExpirable(c *call) string {
	if !c.isNil(c.expr.Args[1]) {
		return noEvict
	}
	o := options{call: c}
	o.limit(c.expr.Args[0], true)
	o.ttl("Expire", c.expr.Args[2])
	return o.write("Must", c.typeArgs())
}

// lruOrAdd moves a call whose results are found, at its place, and evicted.
func lruOrAdd(c *call, found int) string {
	if c.unused() {
		c.asStatement()
		c.rename("GetOrSet")
		return ""
	}
	a, ok := parent(c.stack, 0).(*ast.AssignStmt)
	if !ok || len(a.Lhs) != found+2 || !isBlank(a.Lhs[found+1]) || found == 1 && !isBlank(a.Lhs[0]) {
		return noEvicted + ", and GetOrSet returns the value that is stored"
	}
	c.replace(c.unit, a.Lhs[0].Pos(), a.Lhs[found+1].End(), "_, "+c.source(a.Lhs[found]))
	c.rename("GetOrSet")
	return ""
}

func (c *call) isNil(e ast.Expr) bool { return c.pkg.TypesInfo.Types[e].IsNil() }
