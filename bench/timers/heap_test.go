package timers

import (
	"container/heap"
	"sync"
	"time"
)

// heapTimers are simple timers: a heap under a mutex, and a goroutine that sleeps until the
// first is due.
type heapTimers struct {
	mu   sync.Mutex
	heap timerHeap
	wake *time.Timer
}

type heapTimer struct {
	due   time.Time
	f     func()
	place int
}

func newHeapTimers() *heapTimers { return &heapTimers{} }

func (h *heapTimers) start(d time.Duration, f func()) *heapTimer {
	t := &heapTimer{due: time.Now().Add(d), f: f}
	h.mu.Lock()
	defer h.mu.Unlock()
	heap.Push(&h.heap, t)
	if t.place == 0 {
		h.sleep()
	}
	return t
}

// sleep sets the alarm for the first timer.
func (h *heapTimers) sleep() {
	wait := time.Until(h.heap[0].due)
	if h.wake == nil {
		h.wake = time.AfterFunc(wait, h.run)
		return
	}
	h.wake.Reset(wait)
}

func (h *heapTimers) run() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.heap) > 0 && !h.heap[0].due.After(time.Now()) {
		t := heap.Pop(&h.heap).(*heapTimer)
		h.mu.Unlock()
		t.f()
		h.mu.Lock()
	}
	if len(h.heap) > 0 {
		h.sleep()
	}
}

func (h *heapTimers) cancel(t *heapTimer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	heap.Remove(&h.heap, t.place)
}

func (h *heapTimers) reset(t *heapTimer, d time.Duration) {
	due := time.Now().Add(d)
	h.mu.Lock()
	defer h.mu.Unlock()
	t.due = due
	heap.Fix(&h.heap, t.place)
	if t.place == 0 {
		h.sleep()
	}
}

func (h *heapTimers) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heap = nil
}

type timerHeap []*heapTimer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*heapTimer)
	t.place = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}
