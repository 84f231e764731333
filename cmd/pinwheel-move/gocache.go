package main

import "time"

var goCache = &library{
	name:    "go-cache",
	path:    "github.com/patrickmn/go-cache",
	becomes: map[string]*becomes{"Cache": {name: "§Cache[string, any]"}},
	constants: map[string]string{
		"NoExpiration":      "time.Duration(-1)",
		"DefaultExpiration": "time.Duration(0)",
	},
	rules: map[string]rule{
		"New":                {"`Must` with `Expire`", true, newGoCache},
		"NewFrom":            stays("a cache of pinwheel begins empty"),
		"cache.Get":          to("Get"),
		"cache.Set":          {"`Set`, `SetWithExpire`, or the function `cacheSetFor` for a TTL that is not a constant", false, goCacheSet},
		"cache.SetDefault":   to("Set"),
		"cache.Add":          toHelper("cacheAdd", "", ""),
		"cache.Replace":      {"the function `cacheReplace`, if the TTL is a constant other than 0", false, goCacheReplace},
		"cache.Delete":       to("Del"),
		"cache.Flush":        to("Clear"),
		"cache.ItemCount":    to("Len"),
		"cache.OnEvicted":    stays("pinwheel's OnRemove is an option, runs in another goroutine, perhaps after Delete returned, and gets replaced and cleared values too"),
		"cache.Items":        stays("pinwheel's Entries is an iterator, with the time that is left in place of a deadline"),
		"cache.Save":         stays("pinwheel's Save has another format"),
		"cache.SaveFile":     stays("pinwheel's SaveFile has another format"),
		"cache.Load":         stays("pinwheel's Restore reads another format"),
		"cache.LoadFile":     stays("pinwheel's RestoreFile reads another format"),
		"cache.Increment":    stays("pinwheel's Compute needs the type of the value"),
		"cache.Decrement":    stays("pinwheel's Compute needs the type of the value"),
		"cache.IncrementInt": toHelper("cacheIncrement", "[int]", ""),
		"cache.DeleteExpired": {"`DelExpired`", false, func(c *call) string {
			if !c.unused() {
				return "pinwheel's DelExpired returns a number"
			}
			c.rename("DelExpired")
			return ""
		}},
		"cache.GetWithExpiration": toHelper("cacheGetWithExpiration", "", ""),
	},
}

func init() {
	// The methods of Cache are those of the cache that it embeds.
	for name, t := range map[string]string{
		"Int8": "int8", "Int16": "int16", "Int32": "int32", "Int64": "int64",
		"Uint": "uint", "Uint8": "uint8", "Uint16": "uint16", "Uint32": "uint32", "Uint64": "uint64", "Uintptr": "uintptr",
		"Float32": "float32", "Float64": "float64",
	} {
		goCache.rules["cache.Increment"+name] = toHelper("cacheIncrement", "["+t+"]", "")
		goCache.rules["cache.Decrement"+name] = toHelper("cacheDecrement", "["+t+"]", "")
	}
	goCache.rules["cache.DecrementInt"] = toHelper("cacheDecrement", "[int]", "")
}

func newGoCache(c *call) string {
	if !c.pure(c.expr.Args[1]) {
		return "the interval of its clean-up has effects, and pinwheel needs none"
	}
	o := options{call: c}
	o.ttl("Expire", c.expr.Args[0])
	return o.write("Must", "string, any")
}

// A TTL of 0 is go-cache's default, and pinwheel's for ever; less than 0 is go-cache's for ever.
func goCacheSet(c *call) string {
	d := c.expr.Args[2]
	v, known := c.value(d)
	switch {
	case !known:
		return c.helper("cacheSetFor", "")
	case v == 0:
		c.dropArgs(2)
		c.rename("Set")
	case v < 0:
		c.replace(c.unit, d.Pos(), d.End(), "0")
		c.rename("SetWithExpire")
	case time.Duration(v) > 0:
		c.rename("SetWithExpire")
	}
	return ""
}

func goCacheReplace(c *call) string {
	if v, known := c.value(c.expr.Args[2]); !known || v == 0 {
		return "Compute keeps the old deadline, and ComputeWithExpire must know the TTL"
	}
	return c.helper("cacheReplace", "")
}
