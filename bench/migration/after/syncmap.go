package after

import "github.com/pinwheel-cache/pinwheel/cache"

// Visits counts the requests of each client.
type Visits struct {
	c *cache.Cache[string, int]
}

func NewVisits() *Visits {
	return &Visits{cache.Must(cache.Options[string, int]{
		Name:  "visits",
		Limit: 100_000, // or 0: no limit, as in a sync.Map
	})}
}

func (v *Visits) Add(client string) int {
	n, _ := v.c.Compute(client, func(n int, _ bool) (int, cache.Op) {
		return n + 1, cache.OpSet
	})
	return n
}

// Reset returns the count that it ends.
func (v *Visits) Reset(client string) (n int, ok bool) {
	return v.c.GetAndDel(client)
}

func (v *Visits) Total() int {
	sum := 0
	for _, n := range v.c.All() {
		sum += n
	}
	return sum
}
