package timingwheel_test

import (
	"fmt"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

func ExampleRing() {
	ring := timingwheel.NewRing(8)
	ring.Resize(3) // tasks 0, 1 and 2
	ring.Set(0, 2)
	ring.Set(1, 3)
	ring.Set(2, 3)

	ring.Set(1, 20) // put off: the task stays in its slot
	ring.Remove(2)

	ring.Advance(100, 1000, func(task uint32) (again int64) {
		fmt.Println("tick", ring.Now(), "task", task)
		if ring.Now() < 10 {
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
