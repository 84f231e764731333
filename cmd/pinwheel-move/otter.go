package main

import (
	"go/ast"
	"strings"
)

const noCompute = "pinwheel's Compute runs its function without a lock, and again if the key was changed meanwhile"

var otter = &library{
	name:    "otter v2",
	path:    "github.com/maypok86/otter/v2",
	becomes: map[string]*becomes{"Cache": plainCache},
	rules: map[string]rule{
		"New":  {"`New` with `Limit`, `MaxWeight` and `Weigh`, `Expire` or `Idle`, if no other option is set", true, func(c *call) string { return newOtter(c, "New") }},
		"Must": {"`Must`, as `New`", true, func(c *call) string { return newOtter(c, "Must") }},

		"Cache.GetIfPresent": to("Get"),
		"Cache.Set":          toUnused("Set"),
		"Cache.SetIfAbsent":  toUnused("GetOrSet"),
		"Cache.Invalidate": {"`Del`, or `GetAndDel` if the results are used", false, func(c *call) string {
			if c.unused() {
				c.asStatement()
				c.rename("Del")
			} else {
				c.rename("GetAndDel")
			}
			return ""
		}},
		"Cache.InvalidateAll":     to("Clear"),
		"Cache.EstimatedSize":     to("Len"),
		"Cache.All":               to("All"),
		"Cache.CleanUp":           notNeeded(),
		"Cache.StopAllGoroutines": notNeeded(),
		"Cache.SetExpiresAfter": {"`Touch`, if the time is a constant above 0", false, func(c *call) string {
			if v, known := c.value(c.expr.Args[1]); !known || v <= 0 {
				return "SetExpiresAfter with 0 or less does nothing, and pinwheel's Touch with 0 is for ever"
			}
			c.rename("Touch")
			return ""
		}},
		"Cache.Compute":          stays(noCompute),
		"Cache.ComputeIfAbsent":  stays(noCompute),
		"Cache.ComputeIfPresent": stays(noCompute),
		"Cache.Get":              stays("pinwheel's TakeCtx does not load again after a deletion during the load, and returns what was loaded where another value was set meanwhile"),
		"Cache.BulkGet":          stays("pinwheel's TakeMany ignores keys that were not asked for"),
	},
}

func newOtter(c *call, maker string) string {
	config := ast.Unparen(c.expr.Args[0])
	if ref, ok := config.(*ast.UnaryExpr); ok {
		config = ref.X
	}
	literal, ok := config.(*ast.CompositeLit)
	if !ok {
		return "its Options are not written where it is made"
	}
	o := options{call: c}
	for _, element := range literal.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return "its Options have no names of fields"
		}
		switch name := field.Key.(*ast.Ident).Name; name {
		case "InitialCapacity":
			if !c.pure(field.Value) {
				return name + " has effects"
			}
		case "MaximumSize":
			o.limit(field.Value, false)
		case "MaximumWeight":
			o.fields = append(o.fields, "MaxWeight: "+c.source(field.Value))
		case "Weigher":
			o.fields = append(o.fields, "Weigh: "+c.source(field.Value))
		case "ExpiryCalculator":
			o.why = otterExpiry(c, &o, field.Value)
		default:
			return "its " + name + " has no equal option"
		}
		if o.why != "" {
			return o.why
		}
	}
	types := c.literalTypes(literal)
	if strings.Contains(strings.Join(o.fields, ""), "MaxWeight") != strings.Contains(strings.Join(o.fields, ""), "Weigh:") {
		return "pinwheel wants MaxWeight and Weigh together"
	}
	return o.write(maker, types)
}

func otterExpiry(c *call, o *options, e ast.Expr) string {
	expr, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return "its ExpiryCalculator is not written where it is made"
	}
	fn, _ := c.calledName(expr)
	field := map[string]string{"ExpiryWriting": "Expire", "ExpiryAccessing": "Idle"}[fn.name]
	if field == "" {
		return "its ExpiryCalculator is neither ExpiryWriting nor ExpiryAccessing"
	}
	if v, known := c.value(expr.Args[0]); !known || v <= 0 {
		return "its TTL is not a constant above 0"
	}
	o.ttl(field, expr.Args[0])
	return o.why
}
