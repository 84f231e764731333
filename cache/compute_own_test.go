package cache

import (
	"strings"
	"testing"
)

// TestComputeThatChangesItsOwnKey checks that Compute panics, and is not called for ever,
// if its function always changes its own key.
func TestComputeThatChangesItsOwnKey(t *testing.T) {
	for name, change := range map[string]func(c *Cache[int, int]){
		"Set":     func(c *Cache[int, int]) { c.Set(1, 5) },
		"Del":     func(c *Cache[int, int]) { c.Del(1) },
		"Clear":   func(c *Cache[int, int]) { c.Clear() },
		"Compute": func(c *Cache[int, int]) { c.Compute(1, func(int, bool) (int, Op) { return 7, OpSet }) },
	} {
		t.Run(name, func(t *testing.T) {
			c := Must(Options[int, int]{})
			defer func() {
				if p, _ := recover().(string); !strings.Contains(p, "own key") {
					t.Errorf("panic %q", p)
				}
				wantWhole(t, c)
			}()
			c.Compute(1, func(old int, _ bool) (int, Op) {
				change(c)
				return old + 1, OpSet
			})
		})
	}
}

// TestComputeThatIsOvertaken checks that the function of Compute is called again as often
// as others change the key, also if it once changes the key itself.
func TestComputeThatIsOvertaken(t *testing.T) {
	c := Must(Options[int, int]{})
	calls := 0
	got, _ := c.Compute(1, func(old int, _ bool) (int, Op) {
		if calls++; calls == 1 {
			c.Set(1, 10)
		} else if calls < 20 {
			done := make(chan struct{})
			go func() { c.Set(1, 10*calls); close(done) }()
			<-done
		}
		return old + 1, OpSet
	})
	if got != 191 || calls != 20 {
		t.Errorf("%d after %d calls, want 191 after 20", got, calls)
	}
}
