package pressure

// A reading is the state of the process after a cycle of the garbage collector.
type reading struct {
	limit  uint64 // GOMEMLIMIT
	live   uint64 // bytes of the heap that are in use
	others uint64 // bytes that count against limit and are no objects of the heap

	collector, processor float64 // seconds of all processors so far: of the collector, and in all
}

// A governor says how much memory caches should give back, or may take.
//
// The nearer what is in use comes to GOMEMLIMIT, the less is allocated between two cycles, and
// the more of the processor's time the collector takes. So the governor keeps a reserve: a
// share of the limit that is allocated and freed between cycles. It widens while the collector
// takes much, as where the program allocates fast, and narrows while it takes little.
type governor struct {
	reserve float64 // share of the limit
	last    reading
}

const (
	firstReserve = 0.18
	leastReserve = 0.12
	mostReserve  = 0.4

	// Shares of the processor's time. The collector runs at a quarter of the processors
	// while it runs, and should run seldom.
	much   = 0.07
	little = 0.04
)

// excess returns the bytes that caches hold too many; below 0 it is what they may take.
func (g *governor) excess(r reading) int64 {
	if g.reserve == 0 {
		g.reserve = firstReserve
	}
	tight := 2*r.live+r.others > r.limit // with GOGC=100 the limit decides when the collector runs
	if spent := r.processor - g.last.processor; spent > 0 && g.last.limit > 0 {
		switch share := (r.collector - g.last.collector) / spent; {
		case tight && share > much:
			g.reserve = min(g.reserve*1.25, mostReserve)
		case share < little:
			g.reserve = max(g.reserve*0.98, leastReserve)
		}
	}
	g.last = r
	return int64(r.live+r.others) - int64(float64(r.limit)*(1-g.reserve))
}

// A Holder is a cache that can give back memory.
type Holder interface {
	// Held returns the bytes that its entries take, may take for now, and may take at most,
	// when there is no pressure.
	Held() (now, may, most uint64)

	// Hold sets the most bytes that the entries may take for now, and frees the surplus. It
	// may take its time.
	Hold(most uint64)
}

// share divides an excess among holders. A holder gives by its part of what all hold, but not
// all at once: what is cut leaves holes in the heap, which count until they are used again. And
// it grows in small steps, as the next cycle is the first to see what a step has cost.
func share(excess int64, holders []Holder) {
	const cut, grow = 0.7, 0.25
	var all uint64
	for _, h := range holders {
		now, _, _ := h.Held()
		all += now
	}
	for _, h := range holders {
		now, may, most := h.Held()
		part := 1 / float64(len(holders))
		if all > 0 {
			part = float64(now) / float64(all)
		}
		to := float64(now) - float64(excess)*part*cut
		if excess < 0 {
			to = float64(may) - float64(excess)*part*grow
		}
		hold := most
		if to < float64(most) {
			hold = max(least(most), uint64(max(to, 0)))
		}
		if hold != may {
			h.Hold(hold)
		}
	}
}

// least is what a cache keeps however tight memory is: a cache that holds nothing would send
// all to the database.
func least(most uint64) uint64 { return max(1, most/16) }
