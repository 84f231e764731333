package cache

import (
	"strings"
	"testing"
)

// TestComputeThatChangesItsOwnKey checks that Compute panics, and is not called for ever, if its
// function always changes its own key; and that a panic of the function changes nothing.
func TestComputeThatChangesItsOwnKey(t *testing.T) {
	for name, change := range map[string]func(c *Cache[int, int]){
		"Set":     func(c *Cache[int, int]) { c.Set(1, 5) },
		"Del":     func(c *Cache[int, int]) { c.Del(1) },
		"own key": func(c *Cache[int, int]) { panic("on purpose, with its own key") },
		"Clear":   func(c *Cache[int, int]) { c.Clear() },
		"Compute": func(c *Cache[int, int]) { c.Compute(1, func(int, bool) (int, Op) { return 7, OpSet }) },
	} {
		t.Run(name, func(t *testing.T) {
			c := Must(Options[int, int]{})
			c.Set(1, 10)
			defer func() {
				p, _ := recover().(string)
				if v, _ := c.Peek(1); !strings.Contains(p, "own key") || name == "own key" && v != 10 {
					t.Errorf("panic %q, and the value is %d", p, v)
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
