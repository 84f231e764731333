package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// busyScript keeps a server busy for a number of microseconds.
const busyScript = `local function now() local t = redis.call('TIME') return t[1] * 1000000 + t[2] end
local e = now() + ARGV[1] while now() < e do end`

// A server that runs a long script acknowledges what it did before the script, and holds back
// the message about it.
//
// Catches: a question that a busy server answers, although it has not told of changes.
func TestBusyScript(t *testing.T) {
	busy := []string{"--busy-reply-threshold", "20"}
	tracking := server(t, busy...)
	keyspace := server(t, append(busy, redistest.WithoutTracking...)...)
	for name, o := range map[string]redis.Options{"tracking": {}, "channel": {Channel: "changes"}, "keyspace": {}} {
		t.Run(name, func(t *testing.T) {
			s := tracking
			if name == "keyspace" {
				s = keyspace
			}
			r := open(t, o, s.Addr)
			c := newChecker(100 * time.Millisecond)
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { r.Watch(ctx, c); close(done) }()
			defer func() { stop(); <-done }()
			c.Await(t, "the first Current", func() bool { return c.Served })
			var end func()
			c.write("user:1", func() { end = thenBusy(t, s, time.Second, "SET", "user:1", "1") })
			defer end()
			wrote := time.Now()
			c.Await(t, "what comes after it", func() bool { return c.AsOf.After(wrote) })
			if c.missing > 0 {
				t.Errorf("%d changes were vouched for before they were told", c.missing)
			}
		})
	}
}

// thenBusy has a server run a command and, in the same round of its event loop, a script. It
// returns when the command is acknowledged; end waits for the script.
func thenBusy(t testing.TB, s *redistest.Server, busy time.Duration, command ...string) (end func()) {
	t.Helper()
	first, second := dial(t, s), dial(t, s)
	check(t, s.Pause())
	time.Sleep(10 * time.Millisecond) // until it stands still
	_, err := first.Write([]byte(resp(command)))
	check(t, err)
	_, err = second.Write([]byte(resp([]string{"EVAL", busyScript, "0", fmt.Sprint(busy.Microseconds())})))
	check(t, err)
	check(t, s.Resume())
	if line := reply(t, first); strings.HasPrefix(line, "-BUSY") { // the script came first
		reply(t, second)
		return thenBusy(t, s, busy, command...)
	}
	return func() { reply(t, second) }
}

// dial returns a connection that the server has accepted.
func dial(t testing.TB, s *redistest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = conn.Write([]byte(resp([]string{"PING"})))
	check(t, err)
	reply(t, conn)
	return conn
}

// reply reads a line.
func reply(t testing.TB, conn net.Conn) string {
	t.Helper()
	line, err := bufio.NewReader(conn).ReadString('\n')
	check(t, err)
	return line
}

// resp returns a command as it is sent.
func resp(command []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, arg := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b.String()
}
