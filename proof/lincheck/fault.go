package lincheck

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Faults is a set of ways in which a cache can be wrong. With the right ones excused, the
// model explains a wrong history.
type Faults uint16

const (
	LoadUndoesSet Faults = 1 << iota // a load stores its result over a value set since it began
	LoadUndoesDel                    // a load stores its result though the key was removed since it began
	LoadsTwice                       // a Take loads although another load is under way, and stores over its result
	JoinsLate                        // a Take that began after a change gets the result of a load from before it
	Misreports                       // Del or Touch says wrongly whether there was an entry
	Overstays                        // an entry is found after its deadline
	Revives                          // Touch or Compute continues an entry that a read has found expired
	Splits                           // GetOrSet or Compute writes although the value it found has changed since
	Loses                            // an entry is gone long before its deadline, although nothing removed it
	Lags                             // a Set takes effect after it has returned
	Stale                            // a read finds a value overwritten or removed before

	all = Stale<<1 - 1
)

// undone has the fault of a load that ignores a change.
var undone = [...]Faults{bySet: LoadUndoesSet, byDel: LoadUndoesDel, byLoad: LoadsTwice}

var faultNames = [...]string{
	"load undoes Set", "load undoes Del", "loads twice", "Take joins an older load", "Del answers wrongly",
	"found after its deadline", "revives the expired", "not atomic", "loses a write", "Set applies late", "reads a removed value",
}

func (f Faults) has(one Faults) bool { return f&one != 0 }

// Each returns each fault of the set as a set; for the empty set, the empty set.
func (f Faults) Each() (single []Faults) {
	if f == 0 {
		return []Faults{0}
	}
	for ; f != 0; f &= f - 1 {
		single = append(single, f&-f)
	}
	return single
}

// String names the faults. The empty set means that no faults explain the history.
func (f Faults) String() string {
	if f == 0 {
		return "not explained"
	}
	var names []string
	for _, one := range f.Each() {
		names = append(names, faultNames[bits.TrailingZeros16(uint16(one))])
	}
	return strings.Join(names, ", ")
}

// enough is how long porcupine may look for an order with some faults excused, before
// others are tried.
const enough = 500 * time.Millisecond

// explain returns a smallest set of at most four faults that explains a history of one key,
// or none.
func explain(p Promises, part []porcupine.Operation) Faults {
	part = slices.SortedFunc(slices.Values(part), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for weight := 1; weight <= 4; weight++ {
		for f := Faults(1); f <= all; f++ {
			if f.weight() == weight && explains(p, f, part) {
				return f
			}
		}
	}
	return 0
}

// weight returns the number of faults. The last three count as two each, because they
// explain much that has a better explanation; therefore the faults are tried in order, too.
func (f Faults) weight() int {
	return bits.OnesCount16(uint16(f)) + bits.OnesCount16(uint16(f&(Loses|Lags|Stale)))
}

func explains(p Promises, f Faults, part []porcupine.Operation) bool {
	if f.has(Lags) {
		part = lagging(part)
	}
	m := rules{p, f}.model()
	m.Partition = nil
	return porcupine.CheckOperationsTimeout(m, part, enough) == porcupine.Ok
}

// lagging returns a history, sorted by time, with Sets that never end, but for a first one.
func lagging(part []porcupine.Operation) []porcupine.Operation {
	late := make([]porcupine.Operation, len(part))
	for i, o := range part {
		if op := o.Input.(Op); i > 0 && (op.Kind == Set || op.Kind == SetWithExpire) {
			o.Return = math.MaxInt64
		}
		late[i] = o
	}
	return late
}
