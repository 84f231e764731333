package redis

import "testing"

// Catches: a slot that is not the one that Redis computes.
func TestSlotOf(t *testing.T) {
	// As CLUSTER KEYSLOT of Redis 7.0 says.
	for tag, want := range map[string]int64{"123456789": 12739, "foo": 12182, "": 0, "0": 13907, "user1000": 3443} {
		if got := slotOf(tag); got != want {
			t.Errorf("%q is in slot %d, want %d", tag, got, want)
		}
	}
}

// Catches: a tag of another master, also if that one has a single slot.
func TestTagIn(t *testing.T) {
	if tag := tagIn(nil); tag != "" {
		t.Errorf("without slots: %q", tag)
	}
	for _, some := range [][]slots{{{7, 7}}, {{0, 0}, {16383, 16383}}, {{100, 5460}}} {
		tag := tagIn(some)
		slot := slotOf(tag[1 : len(tag)-2])
		in := false
		for _, one := range some {
			in = in || one.first <= slot && slot <= one.last
		}
		if !in {
			t.Errorf("%v: %q is in slot %d", some, tag, slot)
		}
	}
}

// Catches: an address that cannot be dialed.
func TestNodeAddress(t *testing.T) {
	for host, want := range map[string]string{
		"": "10.0.0.1:30002", "?": "10.0.0.1:30002", "::1": "[::1]:30002", "host-2.example": "host-2.example:30002", "127.0.0.1": "127.0.0.1:30002",
	} {
		if got, err := nodeAddress(host, 30002, "10.0.0.1:30001"); err != nil || got != want {
			t.Errorf("%q is %q, %v, want %q", host, got, err, want)
		}
	}
	if got, err := nodeAddress("", 1, "no port"); err == nil {
		t.Errorf("%q", got)
	}
}
