package lincheck

import (
	"testing"
	"time"
)

// at gives an operation its times.
func at(call, ret int64, op Op) Op {
	op.Call, op.Return = call, ret
	return op
}

func set(value int64) Op { return Op{Kind: Set, Value: value} }
func setFor(value int64, ttl int64) Op {
	return Op{Kind: SetWithExpire, Value: value, TTL: time.Duration(ttl)}
}
func hit(value int64) Op          { return Op{Kind: Get, Got: value, Found: true} }
func begins(load, value int64) Op { return Op{Kind: TakeBegins, Load: load, Value: value, Got: value} }
func ends(load, value int64) Op   { return Op{Kind: TakeEnds, Load: load, Value: value, Got: value} }
func beside(load, value int64) Op {
	op := begins(load, value)
	op.Beside, op.Client = true, maxClients
	return op
}
func leftOut(op Op) Op {
	op.Absent = true
	return op
}
func take(value int64) Op  { return Op{Kind: Take, Got: value} }
func filter(bit int64) Op  { return Op{Kind: Filter, Picks: bit} }
func delFunc(bit int64) Op { return Op{Kind: DelFunc, Picks: bit} }
func by(client int, op Op) Op {
	op.Client = client
	return op
}
func increment(old, got int64) Op {
	return Op{Kind: Compute, Old: old, HadOld: true, Does: Store, Value: old + 1, Got: got, Found: true}
}

var (
	miss    = Op{Kind: Get}
	del     = Op{Kind: Del, Found: true}
	nothing = Op{Kind: Clear}
)

// TestModel checks invented histories, one rule each.
//
// Catches: a model that is too lenient or too strict in rare cases.
func TestModel(t *testing.T) {
	never, evicts, idle := Promises{}, Promises{Evicts: true}, Promises{Idle: 100}
	grace := Promises{StandsIn: true}
	for _, c := range []struct {
		name string
		p    Promises
		want bool
		ops  []Op
	}{
		{"a read during a Set", never, true, []Op{at(2, 9, set(1)), at(3, 4, miss), at(5, 6, hit(1))}},
		{"an old read after a new one", never, false, []Op{at(2, 9, set(1)), at(3, 4, hit(1)), at(5, 6, miss)}},
		{"a lost Set", never, false, []Op{at(2, 3, set(1)), at(4, 5, miss)}},
		{"an overwritten value", evicts, false, []Op{at(2, 3, set(1)), at(4, 5, set(2)), at(6, 7, hit(1))}},
		{"a torn value", evicts, false, []Op{at(2, 9, set(1)), at(3, 4, hit(Torn))}},
		{"an eviction", evicts, true, []Op{at(2, 3, set(1)), at(4, 5, miss)}},
		{"a return from eviction", evicts, false, []Op{at(2, 3, set(1)), at(4, 5, miss), at(6, 7, hit(1))}},
		{"a deleted value", evicts, false, []Op{at(2, 3, set(1)), at(4, 5, del), at(6, 7, hit(1))}},
		{"two increments", never, true, []Op{at(2, 3, set(1)), at(4, 8, increment(1, 2)), at(5, 9, increment(2, 3))}},
		{"an increment lost", never, false, []Op{at(2, 3, set(1)), at(4, 8, increment(1, 2)), at(5, 9, increment(1, 2))}},
		{"a load", never, true, []Op{at(2, 3, begins(1, 7)), at(6, 7, ends(1, 7)), at(8, 9, hit(7))}},
		{"a load that failed", never, true, []Op{at(2, 3, begins(1, -7)), at(6, 7, ends(1, -7)), at(8, 9, miss)}},
		{"a load that joined", never, true, []Op{at(2, 3, begins(1, 7)), at(4, 9, Op{Kind: Take, Got: 7}), at(6, 7, ends(1, 7))}},
		{"a load that joined too late", never, false, []Op{at(2, 3, begins(1, 7)), at(4, 5, nothing), at(6, 9, Op{Kind: Take, Got: 7}), at(7, 8, ends(1, 7))}},
		{"a load over a Set", never, false, []Op{at(2, 3, begins(1, 7)), at(4, 5, set(1)), at(6, 7, ends(1, 7)), at(8, 9, hit(7))}},
		{"a load after a Clear", never, false, []Op{at(2, 3, begins(1, 7)), at(4, 5, nothing), at(6, 7, ends(1, 7)), at(8, 9, hit(7))}},
		{"a load not stored after a Clear", never, true, []Op{at(2, 3, begins(1, 7)), at(4, 5, nothing), at(6, 7, ends(1, 7)), at(8, 9, miss)}},
		{"a load that a DelFunc picks", never, false, []Op{at(2, 3, begins(1, 7)), at(4, 5, filter(1)), at(4, 5, delFunc(1)), at(6, 7, ends(1, 7)), at(8, 9, hit(7))}},
		{"a load that a DelFunc does not pick", never, true, []Op{at(2, 3, begins(1, 7)), at(4, 5, filter(0)), at(4, 5, delFunc(0)), at(6, 7, ends(1, 7)), at(8, 9, hit(7))}},
		{"a load beside one that a DelFunc may pick", never, true, []Op{at(2, 3, begins(1, 7)), at(4, 5, filter(0)), at(4, 5, delFunc(0)), at(6, 7, by(1, begins(2, 8))), at(8, 9, ends(1, 7)), at(10, 11, miss), at(12, 13, by(1, ends(2, 8))), at(14, 15, hit(8))}},
		{"a Take that joins a load of before a DelFunc", never, false, []Op{at(2, 3, begins(1, 7)), at(4, 5, filter(1)), at(4, 5, delFunc(1)), at(6, 9, Op{Kind: Take, Got: 7}), at(8, 9, ends(1, 7))}},
		{"a load from after a DelFunc began", never, true, []Op{at(3, 4, begins(1, 7)), at(2, 5, filter(1)), at(2, 9, delFunc(1)), at(6, 7, ends(1, 7)), at(8, 9, hit(7))}},
		{"a value that a DelFunc picks", never, false, []Op{at(2, 3, set(7)), at(4, 5, delFunc(1)), at(6, 7, hit(7))}},
		{"a value that a DelFunc does not pick", never, false, []Op{at(2, 3, set(7)), at(4, 5, delFunc(0)), at(6, 7, miss)}},
		{"two loads", never, false, []Op{at(2, 3, begins(1, 7)), at(4, 5, begins(2, 8)), at(6, 7, ends(1, 7)), at(8, 9, ends(2, 8))}},
		{"a load beside one that was overtaken", never, true, []Op{at(2, 3, begins(1, 7)), at(4, 5, nothing), at(6, 7, by(1, begins(2, 8))), at(8, 9, by(1, ends(2, 8))), at(10, 11, ends(1, 7)), at(12, 13, hit(8))}},
		{"an overtaken load undoes the one beside it", never, false, []Op{at(2, 3, begins(1, 7)), at(4, 5, nothing), at(6, 7, by(1, begins(2, 8))), at(8, 9, by(1, ends(2, 8))), at(10, 11, ends(1, 7)), at(12, 13, hit(7))}},
		{"an overtaken load is joined beside another", never, false, []Op{at(2, 3, begins(1, 7)), at(4, 5, nothing), at(6, 7, by(1, begins(2, 8))), at(8, 9, by(2, take(7))), at(10, 11, by(1, ends(2, 8))), at(12, 13, ends(1, 7))}},
		{"a load beside one that was not overtaken", never, false, []Op{at(2, 3, begins(1, 7)), at(6, 7, by(1, begins(2, 8)))}},
		{"two loads beside one that was overtaken", never, false, []Op{at(2, 3, begins(1, 7)), at(4, 5, nothing), at(6, 7, by(1, begins(2, 8))), at(8, 9, by(2, begins(3, 9)))}},
		{"expired too early", never, false, []Op{at(2, 10, setFor(1, 100)), at(11, 101, miss)}},
		{"expired", never, true, []Op{at(2, 10, setFor(1, 100)), at(11, 102, miss)}},
		{"alive", never, true, []Op{at(2, 10, setFor(1, 100)), at(109, 200, hit(1))}},
		{"alive too late", never, false, []Op{at(2, 10, setFor(1, 100)), at(110, 200, hit(1))}},
		{"alive again", never, false, []Op{at(2, 10, setFor(1, 100)), at(103, 104, miss), at(105, 106, hit(1))}},
		{"touched", never, true, []Op{at(2, 10, setFor(1, 100)), at(50, 51, Op{Kind: Touch, TTL: 100, Found: true}), at(149, 150, hit(1))}},
		{"alive in its days of grace", Promises{Grace: 50}, true, []Op{at(2, 10, setFor(1, 100)), at(150, 151, hit(1))}},
		{"gone in its days of grace", Promises{Grace: 50}, true, []Op{at(2, 10, setFor(1, 100)), at(103, 104, miss)}},
		{"alive after its days of grace", Promises{Grace: 50}, false, []Op{at(2, 10, setFor(1, 100)), at(160, 161, hit(1))}},
		{"a removal that says wrongly of what", never, false, []Op{at(2, 3, del), at(4, 5, miss)}},
		{"a refresh", never, true, []Op{at(2, 3, set(1)), at(4, 5, beside(1, 7)), at(6, 7, take(1)), at(8, 9, ends(1, 7)), at(10, 11, hit(7))}},
		{"a refresh that failed", never, true, []Op{at(2, 3, set(1)), at(4, 5, beside(1, -7)), at(8, 9, ends(1, -7)), at(10, 11, hit(1))}},
		{"a load though there is a value", never, false, []Op{at(2, 3, set(1)), at(4, 5, begins(1, 7)), at(8, 9, ends(1, 7))}},
		{"a refresh after a Clear", never, false, []Op{at(2, 3, set(1)), at(4, 5, beside(1, 7)), at(6, 7, nothing), at(8, 9, ends(1, 7)), at(10, 11, hit(7))}},
		{"two refreshes", never, false, []Op{at(2, 3, set(1)), at(4, 5, beside(1, 7)), at(6, 7, by(maxClients+1, beside(2, 8))), at(8, 9, ends(1, 7)), at(8, 9, by(1, ends(2, 8)))}},
		{"a refresh that finds no value", never, true, []Op{at(2, 3, set(1)), at(4, 5, beside(1, -7)), at(8, 9, leftOut(ends(1, -7))), at(10, 11, miss)}},
		{"a refresh that finds no value, after a Set", never, false, []Op{at(2, 3, set(1)), at(4, 5, beside(1, -7)), at(6, 7, set(2)), at(8, 9, leftOut(ends(1, -7))), at(10, 11, miss)}},
		{"in grace", grace, true, []Op{at(2, 10, setFor(1, 100)), at(150, 151, miss), at(152, 153, take(1)), at(154, 155, miss)}},
		{"in grace of nothing", never, false, []Op{at(2, 10, setFor(1, 100)), at(150, 151, miss), at(152, 153, take(1))}},
		{"in grace after a Clear", grace, false, []Op{at(2, 10, setFor(1, 100)), at(150, 151, nothing), at(152, 153, take(1))}},
		{"in grace after a DelFunc", grace, false, []Op{at(2, 10, setFor(1, 100)), at(150, 151, miss), at(152, 153, delFunc(1)), at(154, 155, take(1))}},
		{"a load of a key whose value in grace a DelFunc picks", grace, true, []Op{at(2, 10, setFor(1, 100)), at(150, 151, begins(1, 8)), at(152, 153, delFunc(1)), at(154, 155, ends(1, 8)), at(156, 157, miss)}},
		{"in grace after an eviction", Promises{StandsIn: true, Evicts: true}, true, []Op{at(2, 10, setFor(1, 100)), at(150, 151, take(1)), at(152, 153, Op{Kind: TakeBegins, Load: 1, Value: 7}), at(154, 155, ends(1, 7))}},
		{"found in grace", grace, false, []Op{at(2, 10, setFor(1, 100)), at(150, 151, take(1)), at(152, 153, hit(1))}},
		{"kept by reads", idle, true, []Op{at(2, 10, set(1)), at(80, 90, hit(1)), at(170, 171, hit(1))}},
		{"idle", idle, false, []Op{at(2, 10, set(1)), at(110, 111, hit(1))}},
		{"ended though read", idle, false, []Op{at(2, 10, set(1)), at(80, 90, hit(1)), at(120, 121, miss)}},
	} {
		ops := append([]Op{at(0, 1, nothing)}, c.ops...)
		if ok, _, _ := Check(c.p, ops); ok != c.want {
			t.Errorf("%s: Check = %t, want %t", c.name, ok, c.want)
		}
	}
}
