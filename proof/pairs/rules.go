package pairs

import "slices"

// This file is what the documents forbid, and so no actor does. All of it would wait for
// itself, without end.

// allowed reports whether an actor may call a method at all.
func (c *call) allowed() bool {
	switch c.method {
	case "Stats":
		return c.kind != "Amend" // which must not ask for statistics
	case "Take":
		return c.toTake(c.key) == anyContext
	}
	return true
}

// A demand is what a context must be, so that a call with it ends.
type demand uint8

const (
	anyContext    demand = iota
	ownContext           // that of the fetch in which the call is made, or derived from it
	endingContext        // one that ends by itself
)

// toTake returns what the context of a Take must be.
//
// A fetch must not take its own key, unless with its own context, by which the cache can
// tell. Two must not take each other's: so those that wait for each other have ascending
// keys. With MaxLoads a fetch needs its own context for others, by which the cache can tell
// that it has a permit. A Timeout ends all waits.
func (c *call) toTake(wanted ...int) demand {
	if c.options.Timeout > 0 {
		return anyContext
	}
	least := slices.Min(wanted)
	tells := c.permit && c.loads == c.above
	switch {
	case least > c.above && c.hasPermit():
		return anyContext
	case least > c.above && c.permit, least == c.above && tells:
		return ownContext
	}
	return endingContext
}

// hasPermit reports whether a Take within the actor needs no permit of MaxLoads, or may wait
// for one.
func (c *call) hasPermit() bool {
	switch {
	case c.options.MaxLoads == 0 || !c.inLoad():
		return true
	case c.kind == "Weigh", c.kind == "Negative", c.kind == "DelFunc":
		// They have no context of a fetch, and need none, unless they were called by one.
		return !c.cast.fetches()
	}
	return false
}

// toWait returns what the context of Wait must be: OnRemove may wait for a load.
func (c *call) toWait() demand {
	if c.inLoad() {
		return endingContext
	}
	return anyContext
}

// toClose returns what the context of Close must be: it can tell that a load or OnRemove
// calls it, but not that OnPanic or Amend does.
func (c *call) toClose() demand {
	if c.kind == "OnPanic" || c.kind == "Amend" {
		return endingContext
	}
	return anyContext
}

// toSave returns what the context of SaveFile must be. Calls of it wait for each other, and
// so for what the encoding of another waits for.
func (c *call) toSave() demand {
	if c.depth > 0 {
		return endingContext
	}
	return anyContext
}

// cast says which kinds of actors call methods in a round.
type cast map[string]bool

func (c cast) fetches() bool {
	for _, kind := range fetchKinds {
		if c[kind] {
			return true
		}
	}
	return false
}

// castFor draws who acts in a round. In a crowded one those do not whom OnRemove may wait
// for: it must not wait for a goroutine that removes values.
func castFor(d dice, crowded bool) cast {
	c := cast{"the program": true}
	for _, kind := range kinds {
		draw := d.chance(50)
		waitedFor := kind != "OnRemove" && kind != "Compute"
		c[kind] = draw && !(crowded && waitedFor)
	}
	if crowded {
		c["OnRemove"] = true
	}
	if d.chance(30) {
		for _, kind := range fetchKinds {
			c[kind] = false
		}
	}
	return c
}
