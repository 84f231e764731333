package cache

import "testing"

// TestEveryGroupSpilled looks for an absent key when keys have passed over every
// group of the index, so that no count ends the search.
func TestEveryGroupSpilled(t *testing.T) {
	c := Must(Options[int, int]{Limit: 16})                    // in two groups of twelve
	c.hash = func(key int) uint64 { return uint64(key) << 63 } // home: the parity of the key
	even := func(i int) int { return 2 * i }
	odd := func(i int) int { return 2*i + 1 }
	for i := range 13 {
		c.Set(even(i), i) // the last one passes over group 0 and lives in group 1
	}
	for i := range 11 {
		c.Del(even(i))
		c.Set(odd(i), i) // group 1 is full
	}
	c.Set(odd(11), 11) // passes over group 1 and lives in group 0
	x := &c.shards[0].index
	if len(x.groups) != 2 || !x.groups[0].spilled() || !x.groups[1].spilled() {
		t.Fatal("not every group has spilled: the test is void")
	}
	for _, key := range []int{even(50), odd(50)} {
		if _, ok := c.Get(key); ok {
			t.Errorf("Get(%d) found something", key)
		}
	}
	if err := c.check(); err != nil {
		t.Error(err)
	}
}
