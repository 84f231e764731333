package lincheck

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// A Kind is what an operation does.
type Kind uint8

// A Take that called fetch is two operations: TakeBegins, which finds neither a value nor another
// load, and TakeEnds, which stores the result of fetch unless the key was changed since. One
// that did not is a Take. So is a TakeMany, for each key that it got a value of or fetched.
// A Refresh is the two operations of its load, or none if it has joined that of another caller.
// In a Detached subject a Take is one operation, whether or not it fetched, and the loads
// are operations of their own. A DelFunc is two operations too: after Filter no load under
// way stores a value that it picks; DelFunc removes such a value.
const (
	Get Kind = iota
	Peek
	Set
	SetWithExpire
	Del
	Touch
	GetOrSet
	Take
	Compute
	Clear
	DelFunc
	TakeMany
	Refresh
	TakeBegins
	TakeEnds
	Filter

	kinds = int(TakeBegins) // those that a client can choose
)

var kindNames = [...]string{"Get", "Peek", "Set", "SetWithExpire", "Del", "Touch", "GetOrSet", "Take", "Compute", "Clear", "DelFunc", "TakeMany", "Refresh", "Take begins", "Take ends", "DelFunc begins"}

func (k Kind) String() string { return kindNames[k] }

// An Op is an operation that has ended. Its times are in nanoseconds since the history
// began. Its answer is Got or Found, or both.
type Op struct {
	Kind         Kind
	Client, Key  int
	Call, Return int64

	Value  int64         // to store; if negative, the fetch failed and nothing is stored
	TTL    time.Duration // of SetWithExpire and Touch
	Load   int64         // number of the fetch, of TakeBegins and TakeEnds
	Absent bool          // a fetch of many keys left this one out
	Beside bool          // the load of a Detached subject: the key may have a value when it begins
	Anew   bool          // the load of a Refresh: likewise, and those under way are not stored

	Picks int64 // the lowest bit of the values that a DelFunc removes

	Old    int64 // the argument of the function of Compute
	HadOld bool
	Does   Action // its result

	Got   int64 // a failed fetch gives Value
	Found bool
}

// String describes the operation to a reader of a history.
func (o Op) String() string {
	answer := fmt.Sprintf("%d, %t", o.Got, o.Found)
	switch o.Kind {
	case Get, Peek:
		return fmt.Sprintf("%v(%d) = %s", o.Kind, o.Key, answer)
	case Set:
		return fmt.Sprintf("Set(%d, %d)", o.Key, o.Value)
	case SetWithExpire:
		return fmt.Sprintf("SetWithExpire(%d, %d, %v)", o.Key, o.Value, o.TTL)
	case Del:
		return fmt.Sprintf("Del(%d) = %t", o.Key, o.Found)
	case Touch:
		return fmt.Sprintf("Touch(%d, %v) = %t", o.Key, o.TTL, o.Found)
	case GetOrSet:
		return fmt.Sprintf("GetOrSet(%d, %d) = %s", o.Key, o.Value, answer)
	case Take:
		return fmt.Sprintf("Take(%d) = %d, without a fetch", o.Key, o.Got)
	case Compute:
		does := [...]string{"keep", fmt.Sprint("store ", o.Value), "delete"}[o.Does]
		return fmt.Sprintf("Compute(%d, %d %t: %s) = %s", o.Key, o.Old, o.HadOld, does, answer)
	case Clear:
		return "Clear()"
	case DelFunc, Filter:
		return fmt.Sprintf("%v(those that end in bit %d)", o.Kind, o.Picks)
	default:
		return fmt.Sprintf("%v(%d), fetch %d returns %d, got %d", o.Kind, o.Key, o.Load, o.Value, o.Got)
	}
}

// slot returns the number of the load of a TakeBegins or TakeEnds: that of its client, or the one
// from aside.number.
func (o Op) slot() int {
	if o.Beside {
		return o.Client - maxClients
	}
	return o.Client
}

// picks reports whether a DelFunc removes a value.
func (o Op) picks(value int64) bool { return value&1 == o.Picks }

// ofAllKeys reports whether an operation has no key of its own.
func (o Op) ofAllKeys() bool { return o.Kind == Clear || o.Kind == DelFunc || o.Kind == Filter }

// operations returns a history in the form of porcupine. The model needs arguments, answers
// and times together, so Input is the whole Op.
func operations(history []Op) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(history))
	for i, o := range history {
		ops[i] = porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Return: o.Return}
	}
	return ops
}

// byKey divides a history by key. Operations without a key are in all parts.
func byKey(ops []porcupine.Operation) [][]porcupine.Operation {
	parts := make(map[int][]porcupine.Operation)
	for _, o := range ops {
		if op := o.Input.(Op); !op.ofAllKeys() {
			parts[op.Key] = append(parts[op.Key], o)
		}
	}
	var all [][]porcupine.Operation
	for _, part := range parts {
		for _, o := range ops {
			if o.Input.(Op).ofAllKeys() {
				part = append(part, o)
			}
		}
		all = append(all, part)
	}
	return all
}
