package hash

import "testing"

// TestSeedsOfIntegers: integers, which are hashed in place, have a seed too.
func TestSeedsOfIntegers(t *testing.T) {
	a, b := New[int64](), New[int64]()
	if a.Hash(1) == b.Hash(1) {
		t.Error("two Hashers have the same seed")
	}
}

// TestShortIntegers: only integers of 64 bits are read as a word. Otherwise the memory beside a key
// would go into its hash.
func TestShortIntegers(t *testing.T) {
	for name, word := range map[string]bool{
		"int8":   New[int8]().word,
		"uint16": New[uint16]().word,
		"int32":  New[int32]().word,
		"bool":   New[bool]().word,
		"struct": New[struct{ a, b int32 }]().word,
	} {
		if word {
			t.Errorf("%s: a key is read as 64 bits", name)
		}
	}
	if !New[int64]().word || !New[uint64]().word {
		t.Error("integers of 64 bits are not hashed in place")
	}
}
