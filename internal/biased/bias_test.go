package biased

import "testing"

// TestNoBiasBesideAWriter: while a writer is inside, a reader that comes does not find
// the bias, and so meets the writer in the mutex.
func TestNoBiasBesideAWriter(t *testing.T) {
	l := newLock(2)
	for range 2 * windowWrites { // as it begins, and after a window of writes
		l.Lock()
		biased := l.bias.Load()
		l.Unlock()
		if biased {
			t.Fatal("the bias is on beside a writer")
		}
	}
}
