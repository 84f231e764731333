package redis

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// Catches: a key that is about to expire, or has expired, and is kept for ever.
func TestLifetime(t *testing.T) {
	for pttl, want := range map[int64]time.Duration{
		-1: 0, -2: 1, 0: 1, 1: time.Millisecond, 60_000: time.Minute,
		math.MinInt64: 1, math.MaxInt64: math.MaxInt64, math.MaxInt64 / 1_000_000: math.MaxInt64 / 1_000_000 * 1_000_000, math.MaxInt64/1_000_000 + 1: math.MaxInt64,
	} {
		if got := lifetime(pttl); got != want {
			t.Errorf("PTTL %d is %v, want %v", pttl, got, want)
		}
	}
	for ttl, want := range map[time.Duration]int64{0: 0, -time.Second: 0, 1: 1, time.Millisecond: 1, 1900 * time.Microsecond: 1, time.Minute: 60_000, math.MaxInt64: math.MaxInt64 / 1_000_000} {
		if got := milliseconds(ttl); got != want {
			t.Errorf("%v are %d ms, want %d", ttl, got, want)
		}
	}
}

// Catches: a master that is left out, or that is waited for although it is gone; an address
// that cannot be dialled.
func TestParseCluster(t *testing.T) {
	const nodes = `07c37df 127.0.0.1:30004@31004,,shard-id=69bc slave e7d1 0 1426238317239 4 connected
67ed2db 127.0.0.1:30002@31002,host-2.example master - 0 1426238316232 2 connected 5461-6999 7001-10922
292f8b3 127.0.0.1:30003@31003 master,fail? - 0 1426238318243 3 connected 10923-16383 [5460-<-e7d1]
824fe11 127.0.0.1:30005@31005 master,fail - 0 1426238316232 5 disconnected
924fe11 127.0.0.1:30007@31007 master,fail - 0 1426238316232 5 disconnected 5460
a24fe11 :0@0 master,noaddr - 0 1426238316232 5 disconnected
b24fe11 ::1:30008@31008 master - 0 0 8 connected
c24fe11 127.0.0.1:30009@31009 handshake - 0 0 0 connected
e7d1eec :30001@31001 myself,master - 0 0 1 connected 0-5459 7000 [5459->-67ed2db]
`
	got, err := parseCluster(nodes, "10.0.0.1:30001")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"10.0.0.1:30001", "127.0.0.1:30003", "127.0.0.1:30007", "[::1]:30008", "host-2.example:30002"}; !slices.Equal(got.masters, want) {
		t.Errorf("%v, want %v", got.masters, want)
	}
	for slot, want := range map[int]int16{0: 0, 5459: 0, 5460: 2, 5461: 4, 7000: 0, 7001: 4, 10922: 4, 10923: 1, 16383: 1} {
		if got.owner[slot] != want {
			t.Errorf("slot %d belongs to master %d, want %d", slot, got.owner[slot], want)
		}
	}
	if got.at("127.0.0.1:30002") != 4 || got.at("host-2.example:30002") != 4 || got.at("10.0.0.1:30001") != 0 || got.at("127.0.0.1:1") != -1 || got.moving != true {
		t.Errorf("%+v", got.also)
	}
	for _, bad := range []string{"short line\n", "id address-without-port master - 0 0 1 connected\n"} {
		if got, err := parseCluster(bad, "10.0.0.1:30001"); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

// TestMostMasters checks that those count that own slots.
func TestMostMasters(t *testing.T) {
	c := &cluster{masters: []string{"a", "b", "c", "d", "without slots"}}
	for slot := range c.owner {
		c.owner[slot] = int16(slot % 4)
	}
	for n, want := range []bool{false, false, false, true, true, true} {
		if got := c.most(func(i int) bool { return i < n }); got != want {
			t.Errorf("the first %d of five: %t", n, got)
		}
	}
	if c.most(func(i int) bool { return i != 1 && i != 3 }) {
		t.Error("two of four and one without slots are most")
	}
}

// Catches: an answer that is none and is taken for a message.
func TestReadMessage(t *testing.T) {
	const subscribed, pong = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "*2\r\n$4\r\npong\r\n$0\r\n\r\n"
	all := strings.Repeat(subscribed+"*3\r\n$7\r\nmessage\r\n$3\r\n\r\n\x00\r\n$3\r\nset\r\n"+pong, 16)
	for size := range 64 { // of the buffer: what is read may be at its end
		in := bufio.NewReaderSize(strings.NewReader(all), 16+size)
		for i := range 3 * 16 {
			want := [][]string{{"subscribe", "c", ""}, {"message", "\r\n\x00", "set"}, {"pong", ""}}[i%3]
			if got, err := readMessage(in); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%q, %v, want %q", got, err, want)
			}
		}
	}
	for _, bad := range []string{"", "+PONG\r\n", "-NOPERM no\r\n", "*1\r\n$1\r\nx\r\n", "*5\r\n", "*-1\r\n", "*2\r\n$4\r\npong\r\n$-1\r\n", "*2\r\n$4\r\npo", "*2\r\n$4\r\npong\r\n", "*2\r\n*0\r\n"} {
		if got, err := readMessage(bufio.NewReader(strings.NewReader(bad))); err == nil {
			t.Errorf("%q is %q", bad, got)
		}
	}
}

// Catches: a second connection that is taken for the first, which missed something.
func TestNodeDialsOnce(t *testing.T) {
	n := &node{broken: make(chan struct{})}
	here, there := net.Pipe()
	defer there.Close()
	dial := n.dialOnce(t.Context(), func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return here, nil })
	conn, err := dial(t.Context(), "", nil, nil)
	if err != nil || n.isBroken() {
		t.Fatal(err)
	}
	if _, err := dial(t.Context(), "", nil, nil); !errors.Is(err, errDialedBefore) {
		t.Errorf("a second time: %v", err)
	}
	conn.Close()
	conn.Close()
	if !n.isBroken() {
		t.Error("it is closed, and not broken")
	}
}
