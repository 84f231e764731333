package main

import "go/ast"

var ristretto = &library{
	name:    "ristretto v2",
	path:    "github.com/dgraph-io/ristretto/v2",
	becomes: map[string]*becomes{"Cache": plainCache},
	rules: map[string]rule{
		"NewCache":            {"`New` with `Limit`, if `IgnoreInternalCost` is set and there are no functions", true, newRistretto},
		"Cache.Get":           to("Get"),
		"Cache.Set":           {"`Set`, if the cost is 1 and the result is not used", false, func(c *call) string { return ristrettoSet(c, false) }},
		"Cache.SetWithTTL":    {"the function `cacheSetWithTTL`, if the cost is 1 and the result is not used", false, func(c *call) string { return ristrettoSet(c, true) }},
		"Cache.Del":           to("Del"),
		"Cache.Clear":         to("Clear"),
		"Cache.Wait":          notNeeded(),
		"Cache.Close":         to("Clear"),
		"Cache.GetTTL":        stays("pinwheel's TTL of a value that does not expire is the longest time"),
		"Cache.MaxCost":       stays("pinwheel does not tell its limit"),
		"Cache.IterValues":    stays("pinwheel's All has the keys too"),
		"Cache.UpdateMaxCost": stays("pinwheel's Resize takes an int, returns an error, and 0 is no limit"),
	},
}

func newRistretto(c *call) string {
	config := ast.Unparen(c.expr.Args[0])
	if ref, ok := config.(*ast.UnaryExpr); ok {
		config = ref.X
	}
	literal, ok := config.(*ast.CompositeLit)
	if !ok {
		return "its Config is not written where it is made"
	}
	o := options{call: c}
	counted := false
	for _, element := range literal.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return "its Config has no names of fields"
		}
		switch name := field.Key.(*ast.Ident).Name; name {
		case "NumCounters", "BufferItems", "TtlTickerDurationInSec":
			if !c.pure(field.Value) {
				return name + " has effects"
			}
		case "IgnoreInternalCost":
			value := c.pkg.TypesInfo.Types[field.Value].Value
			counted = value != nil && value.String() == "true"
		case "MaxCost":
			o.limit(field.Value, false)
		default:
			return "pinwheel has no " + name
		}
	}
	if !counted {
		return "its costs are not 1 for each entry: without IgnoreInternalCost each has 56 more; pinwheel's Weigh weighs key and value"
	}
	return o.write("New", c.literalTypes(literal))
}

// literalTypes returns the type arguments of a call, or of the literal of its options.
func (c *call) literalTypes(literal *ast.CompositeLit) string {
	if types := c.typeArgs(); types != "" {
		return types
	}
	inner := &call{file: c.file}
	switch t := literal.Type.(type) {
	case *ast.IndexExpr:
		inner.types = []ast.Expr{t.Index}
	case *ast.IndexListExpr:
		inner.types = t.Indices
	}
	return inner.typeArgs()
}

func ristrettoSet(c *call, withTTL bool) string {
	if !c.unused() {
		return "pinwheel stores each value and returns nothing"
	}
	cost := c.expr.Args[2]
	if v, known := c.value(cost); !known || v != 1 {
		return "its cost is not 1; pinwheel's Weigh weighs key and value"
	}
	if !withTTL {
		c.asStatement()
		c.dropArgs(2)
		c.rename("Set")
		return ""
	}
	if why := c.helper("cacheSetWithTTL", ""); why != "" {
		return why
	}
	c.asStatement()
	c.replace(c.unit, c.expr.Args[1].End(), cost.End(), "")
	return ""
}
