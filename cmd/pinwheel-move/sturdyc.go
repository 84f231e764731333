package main

var sturdyc = &library{
	name:    "sturdyc",
	path:    "github.com/viccon/sturdyc",
	becomes: map[string]*becomes{"Client": {name: "§Cache", before: "string, "}},
	rules: map[string]rule{
		"New":                    {"`Must` with `Limit` and `Expire`, if there are no options", true, newSturdyc},
		"Client.Get":             to("Get"),
		"Client.Set":             toUnused("Set"),
		"Client.Delete":          to("Del"),
		"Client.Size":            to("Len"),
		"Client.ScanKeys":        toHelper("cacheKeys", "", ""),
		"Client.GetOrFetch":      to("TakeCtx"),
		"Client.GetMany":         stays("pinwheel has TakeMany, which loads"),
		"Client.SetMany":         stays("pinwheel sets one value at a time"),
		"Client.GetOrFetchBatch": stays("a key that a batch leaves out is kept as missing by sturdyc, and asked for again by TakeMany"),
		"GetOrFetch":             stays("the value's type differs from the cache's"),
		"GetOrFetchBatch":        stays("the value's type differs from the cache's"),
	},
}

func newSturdyc(c *call) string {
	if len(c.expr.Args) != 4 {
		return "pinwheel's options for refreshes, missing records and stores behind mean other things"
	}
	if !c.pure(c.expr.Args[1]) || !c.pure(c.expr.Args[3]) {
		return "an argument that pinwheel does not need has effects"
	}
	if v, known := c.value(c.expr.Args[2]); !known || v <= 0 {
		return "its TTL is not a constant above 0, and a TTL of 0 is for ever for pinwheel"
	}
	o := options{call: c}
	o.limit(c.expr.Args[0], false)
	o.ttl("Expire", c.expr.Args[2])
	return o.write("Must", "string, "+c.typeArgs())
}
