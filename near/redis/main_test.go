package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

func TestMain(m *testing.M) { redistest.VerifyTestMain(m) }

const (
	lag      = 300 * time.Millisecond // the MaxLag of these tests: after a stall of that length a source reconnects
	patience = time.Minute            // for what must happen
)

// modes are the ways to hear of changes, with the arguments of a server that offers no better one.
var modes = map[string][]string{
	"tracking": nil, "notifications": append(notTracking, "--notify-keyspace-events", "KA"), "RESP2": {"--rename-command", "HELLO", "", "--notify-keyspace-events", "KA"},
}

// notTracking are the arguments of a server that refuses to track.
var notTracking = []string{"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-client|tracking"}

// open connects, and closes after the test.
func open(t testing.TB, o redis.Options, addrs ...string) *redis.Redis {
	t.Helper()
	o.Client.InitAddress = addrs
	o.Client.ConnWriteTimeout, o.Client.Dialer.Timeout = patience, patience
	if o.Channel != "" {
		o.Client.ConnWriteTimeout = 5 * time.Second // rueidis waits for half of it before it connects a subscriber again
	}
	if o.Prefixes == nil {
		o.Prefixes = []string{"user:", "item:"}
	}
	r, err := redis.New(t.Context(), o)
	check(t, err)
	t.Cleanup(r.Close)
	return r
}

// A recorder is a watcher that keeps what it is told.
type recorder struct {
	maxLag time.Duration
	news   chan struct{}

	mu     sync.Mutex
	served bool // between Current and Lost
	keys   []string
	alls   int
	losts  []error
	asOf   time.Time
	faults []string // what a source must not do
}

func (r *recorder) MaxLag() time.Duration { return r.maxLag }

func (r *recorder) told(f func()) {
	r.mu.Lock()
	f()
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *recorder) Changed(keys ...string) { r.told(func() { r.keys = append(r.keys, keys...) }) }
func (r *recorder) ChangedAll()            { r.told(func() { r.alls++ }) }
func (r *recorder) Lost(err error) {
	r.told(func() { r.losts, r.served = append(r.losts, err), false })
}

func (r *recorder) Current(asOf time.Time) {
	r.told(func() {
		if r.alls == 0 {
			r.faults = append(r.faults, "Current before ChangedAll")
		}
		if !asOf.After(r.asOf) || asOf.After(time.Now()) {
			r.faults = append(r.faults, "Current goes back, or ahead")
		}
		r.asOf, r.served = asOf, true
	})
}

// watch watches until the test ends.
func watch(t testing.TB, r *redis.Redis, maxLag time.Duration) *recorder {
	t.Helper()
	w := &recorder{maxLag: maxLag, news: make(chan struct{}, 1)}
	stop := watchWith(r, w)
	t.Cleanup(func() {
		stop()
		for _, fault := range w.faults {
			t.Error(fault)
		}
	})
	w.await(t, "the first Current", func() bool { return w.served })
	return w
}

// watchWith has w watch until stop is called, which waits for the end.
func watchWith(r *redis.Redis, w near.Watcher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { r.Watch(ctx, w); close(done) }()
	return func() { cancel(); <-done }
}

// await waits until is holds of what was told.
func (r *recorder) await(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		r.mu.Lock()
		ok := is()
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-r.news:
		case <-deadline:
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Fatalf("waiting for %s: told %d keys, %d times all, as of %v ago, lost %v", what, len(r.keys), r.alls, time.Since(r.asOf), r.losts)
		}
	}
}

// awaitLost waits until it was told of an error with a text.
func (r *recorder) awaitLost(t testing.TB, text string) {
	t.Helper()
	r.await(t, "a Lost that says "+text, func() bool {
		return slices.ContainsFunc(r.losts, func(err error) bool { return strings.Contains(err.Error(), text) })
	})
}

// tells changes something and waits until is holds of what was told. If the connection is
// lost meanwhile, as it rightly is when the machine stalls for lag, the source says that
// everything may have changed, and not what: then it changes that again.
func (r *recorder) tells(t testing.TB, what string, change func(), is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		losts, told := 0, false
		r.await(t, what+": service", func() bool { losts = len(r.losts); return r.served })
		change()
		r.await(t, what, func() bool { told = is(); return told || len(r.losts) > losts })
		if told {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: the connection was lost each time: %v", what, r.losts)
		}
	}
}

// tellsKey is tells for the change of a key.
func (r *recorder) tellsKey(t testing.TB, key string, change func()) {
	t.Helper()
	n := count(r, key)
	r.tells(t, fmt.Sprintf("%.40q", key), change, func() bool { return countLocked(r, key) > n })
}

func (r *recorder) countAlls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alls
}

func count(r *recorder, key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return countLocked(r, key)
}

func countLocked(r *recorder, key string) (n int) {
	for _, k := range r.keys {
		if k == key {
			n++
		}
	}
	return n
}

// awaitAgain waits until the watcher was told to forget everything, and was served again,
// since f began.
func (r *recorder) awaitAgain(t testing.TB, what string, f func()) {
	t.Helper()
	alls := r.countAlls()
	f()
	r.await(t, what, func() bool { return r.alls > alls && r.served })
}

// await waits until is returns true, and fails the test with the state that it returns.
func await(t testing.TB, what string, is func() (ok bool, state any)) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		ok, state := is()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waiting for %s: %v", what, state)
		}
	}
}

// refusal returns the error of New, which must fail.
func refusal(t testing.TB, what string, o redis.Options) error {
	t.Helper()
	r, err := redis.New(t.Context(), o)
	if err == nil {
		r.Close()
		t.Fatalf("%s: no error", what)
	}
	return err
}

var (
	server = redistest.Serve
	do     = redistest.Do
	check  = settle.Must // ends a test with an error that it did not expect
)
