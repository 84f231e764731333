package affinity

import (
	"sync"
	"testing"
)

func TestHintStays(t *testing.T) {
	first := Hint()
	for range 100 {
		if got := Hint(); got != first {
			t.Fatalf("got %x, then %x", first, got)
		}
	}
}

// TestHintSpreads: goroutines that live at the same time use most of a few
// places, and none far more than its share.
func TestHintSpreads(t *testing.T) {
	const goroutines, places = 256, 16
	var (
		mu    sync.Mutex
		count [places]int
		all   sync.WaitGroup
		end   = make(chan struct{})
		ready sync.WaitGroup
	)
	ready.Add(goroutines)
	for range goroutines {
		all.Go(func() {
			h := Hint()
			mu.Lock()
			count[h>>60]++
			mu.Unlock()
			ready.Done()
			<-end
		})
	}
	ready.Wait()
	close(end)
	all.Wait()
	used := 0
	for _, n := range count {
		if n > 0 {
			used++
		}
		if n > goroutines/3 {
			t.Errorf("%d of %d goroutines in one of %d places: %v", n, goroutines, places, count)
		}
	}
	if used < places/2 {
		t.Errorf("only %d of %d places used: %v", used, places, count)
	}
}
