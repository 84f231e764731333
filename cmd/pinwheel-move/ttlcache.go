package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

const noItem = "pinwheel has values in place of items"

var ttlCache = &library{
	name:    "ttlcache v3",
	path:    "github.com/jellydator/ttlcache/v3",
	becomes: map[string]*becomes{"Cache": plainCache},
	rules: map[string]rule{
		"New":                 {"`Must` with `Limit`, and `Idle` or, with `WithDisableTouchOnHit`, `Expire`", true, newTTLCache},
		"Cache.Set":           {"`Set`, or `SetWithExpire` if no read begins the TTL anew, if the item is not used and the TTL is a constant", false, ttlCacheSet},
		"Cache.Get":           {"`Get`, if the item is only compared with nil and asked for its value", false, func(c *call) string { return ttlCacheItem(c, "Get") }},
		"Cache.GetAndDelete":  {"`GetAndDel`, if the item is only asked for its value", false, func(c *call) string { return ttlCacheItem(c, "GetAndDel") }},
		"Cache.GetOrSet":      stays(noItem),
		"Cache.GetOrSetFunc":  stays(noItem),
		"Cache.Has":           toHelper("cacheContains", "", ""),
		"Cache.Delete":        to("Del"),
		"Cache.DeleteAll":     to("Clear"),
		"Cache.DeleteExpired": to("DelExpired"),
		"Cache.Len":           to("Len"),
		"Cache.Keys":          toHelper("cacheKeys", "", ""),
		"Cache.Items":         stays(noItem),
		"Cache.Range":         stays(noItem),
		"Cache.Touch":         stays("pinwheel's Touch needs the TTL"),
		"Cache.Start":         notNeeded(),
		"Cache.Stop":          notNeeded(),
		"Cache.Metrics":       stays("pinwheel's Stats counts other things"),
		"Cache.OnEviction":    stays("pinwheel's OnRemove is an option, and gets replaced values too"),
		"Cache.OnInsertion":   stays("pinwheel tells of removals only"),
		"Cache.OnUpdate":      stays("pinwheel tells of removals only"),
	},
}

func newTTLCache(c *call) string {
	o := options{call: c}
	touching := true
	var ttl ast.Expr
	typeArgs := c.typeArgs()
	for _, arg := range c.expr.Args {
		option, ok := ast.Unparen(arg).(*ast.CallExpr)
		if !ok || c.expr.Ellipsis.IsValid() {
			return "its options are not written where it is made"
		}
		named, ok := c.calledName(option)
		if typeArgs == "" {
			typeArgs = named.types
		}
		switch {
		case ok && named.name == "WithTTL":
			ttl = option.Args[0]
		case ok && named.name == "WithCapacity":
			o.limit(option.Args[0], true)
		case ok && named.name == "WithDisableTouchOnHit":
			touching = false
		default:
			return "an option is none of WithTTL, WithCapacity and WithDisableTouchOnHit"
		}
	}
	if typeArgs == "" {
		return "the types of keys and values are not written where it is made"
	}
	t := c.unit.top()
	t.touching = t.touching || touching
	if ttl != nil && touching {
		o.ttl("Idle", ttl)
	} else if ttl != nil {
		o.ttl("Expire", ttl)
	}
	return o.write("Must", typeArgs)
}

// called is a function of a library and the type arguments of a call.
type called struct{ name, types string }

// calledName returns the function of the library that a call calls.
func (c *call) calledName(expr *ast.CallExpr) (called, bool) {
	inner := &call{file: c.file}
	fun := ast.Unparen(expr.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun, inner.types = x.X, []ast.Expr{x.Index}
	case *ast.IndexListExpr:
		fun, inner.types = x.X, x.Indices
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || libraryOf(c.pkg.TypesInfo.Uses[sel.Sel]) != c.unit.lib {
		return called{}, false
	}
	return called{sel.Sel.Name, inner.typeArgs()}, true
}

func ttlCacheSet(c *call) string {
	if !c.unused() {
		return noItem
	}
	d := c.expr.Args[2]
	v, known := c.value(d)
	switch {
	case !known:
		return "the TTL is not a constant: 0 is the default of ttlcache, and for ever for pinwheel"
	case v == 0:
		c.dropArgs(2)
		c.asStatement()
		c.rename("Set")
		return ""
	case c.unit.top().touching:
		return "each read begins this TTL anew, and pinwheel's Idle is the same for all"
	case v == -1:
		c.replace(c.unit, d.Pos(), d.End(), "0")
	case v < 0:
		return "pinwheel has no TTL of before"
	}
	c.asStatement()
	c.rename("SetWithExpire")
	return ""
}

// ttlCacheItem moves a call that sets a variable to an item, where the item is only compared with
// nil and asked for its value: then the variable can be the value.
func ttlCacheItem(c *call, to string) string {
	a, ok := parent(c.stack, 0).(*ast.AssignStmt)
	if !ok || a.Tok != token.DEFINE || len(c.expr.Args) != 1 || len(a.Rhs) != 1 {
		return noItem
	}
	item, ok := a.Lhs[0].(*ast.Ident)
	object := c.pkg.TypesInfo.Defs[item]
	if !ok || object == nil {
		return noItem
	}
	found := "found"
	if len(a.Lhs) == 1 && c.taken(found, a) {
		return noItem + ", and the name found is taken"
	}
	values, compared := 0, false
	var pending []func()
	whys := ""
	ast.PreorderStack(c.syntax, nil, func(n ast.Node, stack []ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || c.pkg.TypesInfo.Uses[id] != object {
			return true
		}
		switch p := parent(stack, 0).(type) {
		case *ast.BinaryExpr:
			other := p.Y
			if other == id {
				other = p.X
			}
			if len(a.Lhs) == 1 && c.isNil(other) && (p.Op == token.EQL || p.Op == token.NEQ) {
				compared = true
				text := found
				if p.Op == token.EQL {
					text = "!" + found
				}
				pending = append(pending, func() { c.replace(c.unit, p.Pos(), p.End(), text) })
				return true
			}
		case *ast.SelectorExpr:
			if value, ok := parent(stack, 1).(*ast.CallExpr); ok && p.Sel.Name == "Value" && value.Fun == p {
				values++
				pending = append(pending, func() { c.replace(c.unit, id.End(), value.End(), "") })
				return true
			}
		}
		whys = noItem
		return true
	})
	if whys != "" {
		return whys
	}
	if len(a.Lhs) == 1 && !compared {
		return "a missing item is not looked for, and its Value panics"
	}
	for _, edit := range pending {
		edit()
	}
	name := item.Name
	if values == 0 {
		name = "_"
	}
	if len(a.Lhs) == 1 {
		name += ", " + found
	}
	if name != item.Name {
		c.replace(c.unit, item.Pos(), item.End(), name)
	}
	c.rename(to)
	return ""
}

// taken reports whether the function around a node has a variable of a name.
func (f *file) taken(name string, n ast.Node) bool {
	for _, decl := range f.syntax.Decls {
		if decl.Pos() > n.Pos() || n.End() > decl.End() {
			continue
		}
		for id, object := range f.pkg.TypesInfo.Defs {
			if v, ok := object.(*types.Var); ok && !v.IsField() && id.Name == name && decl.Pos() <= id.Pos() && id.End() <= decl.End() {
				return true
			}
		}
	}
	return f.pkg.Types.Scope().Lookup(name) != nil
}
