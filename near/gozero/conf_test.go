package gozero

import (
	"crypto/tls"
	"slices"
	"testing"

	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

// TestRedisOptions checks that the settings of a go-zero node become those of near/redis.
func TestRedisOptions(t *testing.T) {
	of := func(n redis.RedisConf) (addrs []string, single, encrypted bool, user, password string) {
		o := Conf{}.redisOptions(cache.NodeConf{RedisConf: n}, &tls.Config{}).Client
		return o.InitAddress, o.ForceSingleClient, o.TLSConfig != nil, o.Username, o.Password
	}
	addrs, single, encrypted, user, password := of(redis.RedisConf{Host: "a:1", Type: redis.NodeType, User: "u", Pass: "p"})
	if !slices.Equal(addrs, []string{"a:1"}) || !single || encrypted || user != "u" || password != "p" {
		t.Errorf("node: %v, %v, %v, %q, %q", addrs, single, encrypted, user, password)
	}
	addrs, single, encrypted, _, _ = of(redis.RedisConf{Host: "a:1, b:2", Type: redis.ClusterType, Tls: true})
	if !slices.Equal(addrs, []string{"a:1", "b:2"}) || single || !encrypted {
		t.Errorf("cluster: %v, %v, %v", addrs, single, encrypted)
	}
}
