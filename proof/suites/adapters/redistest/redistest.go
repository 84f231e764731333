// Package redistest has the names of go-zero's core/stores/redis/redistest, on top of a real
// redis-server.
package redistest

import (
	"testing"

	"github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// CreateRedis returns a client of a server that runs as long as the test.
func CreateRedis(t *testing.T) *redis.Redis {
	t.Helper()
	return redis.New(redistest.Serve(t).Addr)
}
