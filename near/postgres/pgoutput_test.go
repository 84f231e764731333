package postgres

import (
	"math"
	"testing"
)

// Catches: a panic, or memory without bound, for a message that is wrong.
func FuzzReplication(f *testing.F) {
	header := "w" + string(make([]byte, 24))
	for _, seed := range []string{
		"k" + string(make([]byte, 17)),
		header + "B" + string(make([]byte, 16)) + "\x00\x00\x00\x07",
		header + "R\x00\x00\x00\x01public\x00t\x00d\x00\x01\x01id\x00\x00\x00\x00\x17\xff\xff\xff\xff",
		header + "I\x00\x00\x00\x01N\x00\x01t\x00\x00\x00\x011",
		header + "U\x00\x00\x00\x01K\x00\x01t\x00\x00\x00\x011N\x00\x01u",
		header + "D\x00\x00\x00\x01O\x00\x01n",
		header + "T\x00\x00\x00\x01\x00\x00\x00\x00\x01",
		header + "C" + string(make([]byte, 25)),
	} {
		f.Add([]byte(seed))
	}
	parsed, err := parse([]Table{{Name: "t", Keys: []string{"t:{id}"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows := &rowReader{tables: map[uint32]table{1: parsed[0]}, relations: map[uint32][]column{1: {{name: "id", identity: true, kind: 23}}}}
		g := newGate(3)
		var open transaction
		if rows.hear(data, &open, g) == nil && len(open.keys) > 3 {
			t.Errorf("%d keys of a message", len(open.keys))
		}
	})
}

// Catches: an id after a wrap that is taken for one before it, and one that is open.
func TestSnapshotShows(t *testing.T) {
	for _, c := range []struct {
		text string
		xid  uint32
		want bool
	}{
		{"10:20:", 19, true}, {"10:20:", 20, false}, {"10:20:10,15", 15, false}, {"10:20:10,15", 14, true},
		{"4294967290:4294967300:", math.MaxUint32, true}, {"4294967290:4294967300:", 3, true}, {"4294967290:4294967300:", 4, false},
		{"4294967290:4294967300:4294967299", 3, false},
	} {
		s, err := parseSnapshot(c.text)
		if err != nil || s.shows(c.xid) != c.want {
			t.Errorf("%s shows %d: %t, %v", c.text, c.xid, s.shows(c.xid), err)
		}
	}
	for _, text := range []string{"", "1:2", "1:x:", "1:2:3,"} {
		if _, err := parseSnapshot(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// Catches: a position that the stream never reaches, as nothing is written after the header of a page.
func TestLastRecord(t *testing.T) {
	for position, want := range map[uint64]uint64{8192 + 24: 8192, 1<<24 + 40: 1 << 24, 8192 + 48: 8192 + 48} {
		if got := lastRecord(position); got != want {
			t.Errorf("%d: %d, want %d", position, got, want)
		}
	}
}
