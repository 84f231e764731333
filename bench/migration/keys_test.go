package migration

import (
	"fmt"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// eko/gocache makes text of a key that is a struct. Ours compares keys by ==, pointers too.
func TestKeysThatPrintAlike(t *testing.T) {
	type name struct{ first, last string }
	lee, maryLee := name{"Ann Mary", "Lee"}, name{"Ann", "Mary Lee"}
	want(t, "fmt: both print alike", fmt.Sprint(lee) == fmt.Sprint(maryLee), true)
	p := pinwheel(t, cache.Options[name, int]{})
	p.Set(lee, 1)
	want(t, "ours: a key that prints alike", has(p.Get(maryLee)), false)

	again := lee
	q := pinwheel(t, cache.Options[*name, int]{})
	q.Set(&lee, 1)
	want(t, "ours: a pointer to an equal struct", has(q.Get(&again)), false)
}
