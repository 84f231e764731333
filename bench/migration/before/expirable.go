package before

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
)

// Rates keeps exchange rates for five minutes.
type Rates struct {
	c *expirable.LRU[string, float64]
}

func NewRates() *Rates {
	return &Rates{expirable.NewLRU[string, float64](500, nil, 5*time.Minute)}
}

func (r *Rates) Quote(pair string, rate float64) { r.c.Add(pair, rate) }

func (r *Rates) Rate(pair string) (float64, bool) { return r.c.Get(pair) }

func (r *Rates) Known() []string { return r.c.Keys() }
