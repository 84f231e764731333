package ring_test

import (
	"fmt"

	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

func ExampleRing() {
	r := ring.New(8)
	r.Resize(3) // tasks 0, 1 and 2
	r.Set(0, 2)
	r.Set(1, 3)
	r.Set(2, 3)

	r.Set(1, 20) // put off: the task stays in its slot
	r.Remove(2)

	r.Advance(100, 1000, func(task uint32) (again int64) {
		fmt.Println("tick", r.Now(), "task", task)
		if r.Now() < 10 {
			return 5 // once more, 5 ticks from now
		}
		return 0
	})
	// Output:
	// tick 2 task 0
	// tick 7 task 0
	// tick 12 task 0
	// tick 20 task 1
}
