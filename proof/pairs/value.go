package pairs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// keys is how many keys the actors use. They are few, so that the actors meet.
const keys = 6

// crowdKeys are those of a crowd, from this one on.
const crowdKeys = 1000

// A value says where it is from. No two values have the same id.
type value struct {
	id    uint64 // the place where it was made; 0 only in the zero value
	key   int
	depth int // of the actor who made it
	above int // likewise
}

// A failure is the error of a fetch.
type failure struct{ value }

func (f *failure) Error() string { return fmt.Sprintf("the fetch of %d fails", f.key) }

// An outburst is what an actor panics with.
type outburst struct{ actor string }

func (o *outburst) Error() string { return "outburst of " + o.actor }

var (
	errLeft = errors.New("the caller leaves")
	errBad  = errors.New("the actor fails")
)

// encoded appends a value to dst, for Save.
func (v value) encoded(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(v.key))
}

// keyIn returns the key of an encoded value.
func keyIn(b []byte) int { return int(binary.LittleEndian.Uint64(b)) }

// A duration is drawn from a few, so that actors often wake up at the same moment.
func (d dice) duration() time.Duration {
	return one[time.Duration](d, 0, 1, 3, 5, 10, 20, 30, 60, 100, 250) * ms
}
