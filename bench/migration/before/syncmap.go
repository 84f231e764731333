package before

import "sync"

// Visits counts the requests of each client.
type Visits struct {
	m sync.Map // of int by string
}

func (v *Visits) Add(client string) int {
	for {
		old, loaded := v.m.LoadOrStore(client, 1)
		if !loaded {
			return 1
		}
		n := old.(int) + 1
		if v.m.CompareAndSwap(client, old, n) {
			return n
		}
	}
}

// Reset returns the count that it ends.
func (v *Visits) Reset(client string) (int, bool) {
	n, ok := v.m.LoadAndDelete(client)
	if !ok {
		return 0, false
	}
	return n.(int), true
}

func (v *Visits) Total() int {
	sum := 0
	v.m.Range(func(_, n any) bool {
		sum += n.(int)
		return true
	})
	return sum
}
