package main

// go-zero's collection has a drop-in.
var goZero = &library{
	name:    "go-zero core/collection",
	path:    "github.com/zeromicro/go-zero/core/collection",
	dropIn:  "github.com/pinwheel-cache/pinwheel/gozero/collection",
	becomes: map[string]*becomes{"Cache": {}},
	same: []string{"Cache", "CacheOption", "NewCache", "WithLimit", "WithName",
		"Cache.Del", "Cache.Get", "Cache.Set", "Cache.SetWithExpire", "Cache.Take"},
}
