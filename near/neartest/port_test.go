package neartest

import (
	"net"
	"strconv"
	"testing"
)

// TestFreePort asks again from where a port was found, while something listens on it, or on that of
// its bus.
func TestFreePort(t *testing.T) {
	for _, above := range []int{0, ports} {
		before := lastPort.Load()
		found := freePort(t)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(found+above)))
		if err != nil {
			t.Fatal(err)
		}
		lastPort.Store(before)
		if again := freePort(t); again == found {
			t.Errorf("got port %d again, while something listens on %d", again, found+above)
		}
		_ = l.Close()
	}
	for seen := map[int]bool{}; len(seen) < 10; {
		port := freePort(t)
		if seen[port] {
			t.Fatalf("got port %d twice", port)
		}
		seen[port] = true
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	text, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
