package after

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Rates keeps exchange rates for five minutes.
type Rates struct {
	c *cache.Cache[string, float64]
}

func NewRates() *Rates {
	return &Rates{cache.Must(cache.Options[string, float64]{
		Name:   "rates",
		Limit:  500,
		Expire: 5 * time.Minute,
	})}
}

func (r *Rates) Quote(pair string, rate float64) { r.c.Set(pair, rate) }

func (r *Rates) Rate(pair string) (float64, bool) { return r.c.Get(pair) }

// Known is in no order.
func (r *Rates) Known() []string {
	var pairs []string
	for pair := range r.c.All() {
		pairs = append(pairs, pair)
	}
	return pairs
}
