package gozero_test

import (
	"context"
	"fmt"
	"time"

	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/redis"
	"github.com/zeromicro/go-zero/core/stores/sqlc"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
)

// One cache for all models of a service. In a service both settings come from YAML.
func ExampleNew() {
	conf := cache.CacheConf{{RedisConf: redis.RedisConf{Host: "localhost:6379", Type: redis.NodeType, PingTimeout: time.Second}, Weight: 100}}
	near, err := gozero.New(gozero.Conf{Name: "near", Limit: 100_000, Expire: 5 * time.Minute}, conf, sqlc.ErrNotFound)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer near.Close(context.Background())

	for range 3 { // a model does so, by sqlc.NewConnWithCache(conn, near)
		var name string
		err := near.Take(&name, "cache:user:name:7", func(v any) error {
			fmt.Println("the database is asked")
			*v.(*string) = "Ann"
			return nil
		})
		fmt.Println(name, err)
	}
	// the database is asked
	// Ann <nil>
	// Ann <nil>
	// Ann <nil>
}
