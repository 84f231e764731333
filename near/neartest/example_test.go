package neartest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

// The test of a store and source of your own. A store of a server has a Proxy before it: neartest.NewProxy(address).
func ExampleTest() {
	_ = func(t *testing.T) { // TestPromises
		neartest.Test(t, func(t *testing.T) neartest.Subject {
			own := memory.New()
			return neartest.Subject{Store: own, Source: own, Foreign: func(ctx context.Context, key string, value []byte) error {
				if value == nil {
					return own.Del(ctx, key)
				}
				return own.Set(ctx, key, near.Item{State: near.Found, Value: value})
			}}
		})
	}
}

// A database says which version it writes, and when copies of the one before are gone.
func ExampleOracle() {
	var oracle neartest.Oracle
	first := oracle.Write(7)
	oracle.Acknowledge(7, first)
	read := time.Now()
	fmt.Println(oracle.Judge(7, first, read).Err(0))
	second := oracle.Write(7)
	oracle.Acknowledge(7, second)
	later := read.Add(time.Minute)
	fmt.Println(oracle.Judge(7, second, later).Err(0), oracle.Judge(7, first, later).Err(time.Second) != nil)
	// Output:
	// <nil>
	// <nil> true
}
