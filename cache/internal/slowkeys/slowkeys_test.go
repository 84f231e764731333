package slowkeys

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeys checks which keys are kept, in which order, and for how long.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Keys[int]
		check := func(want ...int) {
			t.Helper()
			var got []int
			for _, k := range s.Top() {
				got = append(got, k.Key)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		check()
		for key := range 20 {
			s.Add(key, time.Duration(key%10*2+key/10)*time.Millisecond) // key 19 took 19 ms, 9 took 18
		}
		check(19, 9, 18, 8, 17, 7, 16, 6, 15, 5)
		s.Add(5, time.Second)
		s.Add(19, time.Millisecond) // its slowest load counts
		s.Add(0, time.Millisecond)  // not slow enough
		s.Add(5, 2*time.Second)     // again, and once in the list
		check(5, 19, 9, 18, 8, 17, 7, 16, 6, 15)
		if took := s.Top()[1].Took; took != 19*time.Millisecond {
			t.Errorf("the slowest load of 19 took %v, want 19ms", took)
		}
		time.Sleep(lately)
		s.Add(1, time.Millisecond)
		check(5, 19, 9, 18, 8, 17, 7, 16, 6, 15)
		time.Sleep(time.Nanosecond)
		s.Add(2, time.Millisecond)
		check(2)
		s.Close()
		s.Add(3, time.Hour)
		check()
	})
}
