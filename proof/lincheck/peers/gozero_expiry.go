package main

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// go-zero's cache counts in seconds: its wheel ticks every second, and the TTL varies by 5 %,
// is rounded down to ticks, and is counted from the last tick. So an entry with a TTL of five
// seconds lives for three to five and a quarter. The check allows more at both ends.
const (
	slowTTL  = 5 * time.Second
	lives    = slowTTL / 2
	grace    = 3*slowTTL/2 - lives
	slowKeys = 20_000
)

// goZeroExpiry writes many keys when they are about to expire, and others while they are
// removed, and reads all of them when they must be gone. Each key is a history. The check
// takes 14 seconds.
func goZeroExpiry(seed uint64) *lincheck.Survey {
	r := &slowRound{cache: newGoZero(slowTTL), began: time.Now(), rand: rand.New(rand.NewPCG(seed, 0))}
	for key := range 2 * slowKeys {
		r.ops = append(r.ops, []lincheck.Op{r.set(0, key, 1)})
	}
	r.races()
	r.renewals()
	time.Sleep(lives + grace)
	survey := &lincheck.Survey{Promises: lincheck.Promises{Expire: lives, Grace: grace}}
	for key, ops := range r.ops {
		survey.Add(append(ops, r.get(0, key)), seed, key)
	}
	return survey
}

// A slowRound makes histories with few operations for each of many keys.
type slowRound struct {
	cache goZero
	began time.Time
	rand  *rand.Rand
	ops   [][]lincheck.Op // by key
}

func (r *slowRound) now() int64 { return int64(time.Since(r.began)) }

func (r *slowRound) set(client, key int, value int64) lincheck.Op {
	op := lincheck.Op{Kind: lincheck.Set, Client: client, Key: key, Value: value << 10, Call: r.now()}
	r.cache.set(key, op.Value)
	op.Return = r.now()
	return op
}

func (r *slowRound) del(client, key int) lincheck.Op {
	op := lincheck.Op{Kind: lincheck.Del, Client: client, Key: key, Mute: true, Call: r.now()}
	r.cache.del(key)
	op.Return = r.now()
	return op
}

func (r *slowRound) get(client, key int) lincheck.Op {
	op := lincheck.Op{Kind: lincheck.Get, Client: client, Key: key, Call: r.now()}
	op.Got, op.Found = r.cache.get(key)
	op.Return = r.now()
	return op
}

// races sets the second half of the keys in one goroutine while another removes them.
func (r *slowRound) races() {
	sets, dels := make([]lincheck.Op, slowKeys), make([]lincheck.Op, slowKeys)
	const batch = 100 // both goroutines begin each one together
	for first := 0; first < slowKeys; first += batch {
		var wg, begin sync.WaitGroup
		begin.Add(1)
		wg.Go(func() {
			begin.Wait()
			for i := first; i < first+batch; i++ {
				sets[i] = r.set(1, slowKeys+i, 2)
			}
		})
		wg.Go(func() {
			begin.Wait()
			for i := first; i < first+batch; i++ {
				dels[i] = r.del(2, slowKeys+i)
			}
		})
		begin.Done()
		wg.Wait()
	}
	for i := range slowKeys {
		r.ops[slowKeys+i] = append(r.ops[slowKeys+i], sets[i], dels[i])
	}
}

// renewals sets the keys of the first half around their expiry, and reads each at once.
func (r *slowRound) renewals() {
	order := r.rand.Perm(slowKeys)
	from, to := slowTTL/2, slowTTL+slowTTL/10
	for i, key := range order {
		at := from + (to-from)*time.Duration(i)/slowKeys
		time.Sleep(at - time.Since(r.began))
		r.ops[key] = append(r.ops[key], r.set(1, key, 3), r.get(1, key))
	}
}
