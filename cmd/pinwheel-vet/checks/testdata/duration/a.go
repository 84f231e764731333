package duration

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

const hour = 60 * 60
const typed time.Duration = 3600

func options(configured int) cache.Options[string, int] {
	return cache.Options[string, int]{
		Expire:  60 * 60, // want `Expire gets 3.6µs, which has no unit: write 3600\*time.Second, if seconds are meant`
		Idle:    hour,    // want `Idle gets 3.6µs`
		Grace:   5 * time.Minute,
		Timeout: time.Duration(configured),
		Limit:   3600,
	}
}

func calls(c *cache.Cache[string, int]) {
	c.SetWithExpire("a", 1, 300) // want `SetWithExpire gets 300ns`
	c.SetWithExpire("a", 1, 300*time.Second)
	c.SetWithExpire("a", 1, 300*time.Microsecond)
	c.SetWithExpire("a", 1, typed) // somebody has declared that it is a duration
	c.SetWithExpire("a", 1, 0)     // for ever
	c.SetWithExpire("a", 1, -1)
	c.Touch("a", 1) // as soon as possible
	c.Touch("a", 1e9)
	o := options(1)
	o.Patience = 30                                       // want `Patience gets 30ns`
	_, _ = timingwheel.New(10, 300, func(string, int) {}) // want `New gets 10ns`
	time.Sleep(30)                                        // not ours
}
