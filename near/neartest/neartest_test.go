package neartest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/near"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Catches: an excuse when no timer was late, at another moment, or for more than that.
func TestLatenessExcuses(t *testing.T) {
	ms := time.Millisecond
	zero := time.Now()
	l := lateness{maxLag: 300 * ms, due: zero.Add(time.Hour), probes: []lateProbe{{zero, zero.Add(210 * ms)}}}
	for _, c := range []struct {
		began, stale time.Duration
		want         bool
	}{
		{205 * ms, 430 * ms, true},
		{205 * ms, 450 * ms, false}, // more stale than late
		{50 * ms, 301 * ms, false},  // not late by a quarter
		{211 * ms, 430 * ms, false}, // no longer late
		{-ms, 430 * ms, false},      // not yet late
	} {
		if got := l.excuses(zero.Add(c.began), c.stale); got != c.want {
			t.Errorf("a read at %v that is stale by %v: excused %t, want %t", c.began, c.stale, got, c.want)
		}
	}
	l.due = zero.Add(time.Second)
	if got := l.at(zero.Add(1200 * ms)); got != 200*ms {
		t.Errorf("while a probe is pending: late by %v, want 200ms", got)
	}
}

// A board is a Truth in memory, and the source of its changes.
type board struct {
	early time.Duration // tells of a write so long before it can be read
	rare  bool          // a row is not written again soon, so that a lie is not mended

	mu       sync.Mutex
	versions [Rows]int
	watchers map[chan string]bool
}

func (b *board) Read(_ context.Context, row int) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.versions[row], nil
}

func (b *board) Write(_ context.Context, row, version int) error {
	if b.rare {
		time.Sleep(rand.N(4 * maxLag))
	}
	if rand.N(20) == 0 {
		return errors.New("refused") // such a version is not acknowledged
	}
	if b.early > 0 {
		b.tell(row)
		time.Sleep(b.early)
	}
	b.mu.Lock()
	b.versions[row] = version
	b.mu.Unlock()
	if b.early == 0 {
		b.tell(row)
	}
	return nil
}

func (b *board) tell(row int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for to := range b.watchers {
		to <- "row:" + strconv.Itoa(row)
	}
}

// Watch vouches for all that was told before its question.
func (b *board) Watch(ctx context.Context, w near.Watcher) {
	changes := make(chan string, 100_000)
	b.mu.Lock()
	if b.watchers == nil {
		b.watchers = map[chan string]bool{}
	}
	b.watchers[changes] = true
	b.mu.Unlock()
	w.ChangedAll()
	ask := time.NewTicker(near.MaxLag(w) / 4)
	defer ask.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case key := <-changes:
			w.Changed(key)
		case <-ask.C:
			asked := time.Now()
			for len(changes) > 0 {
				w.Changed(<-changes)
			}
			w.Current(asked)
		}
	}
}

const maxLag = 60 * time.Millisecond

// run has a fleet of three read a board over sources that are made of it: for a while, or
// until the oracle has found one that lies. A busy machine excuses stale answers that come
// at once.
func run(t *testing.T, b *board, source func(near.Source) near.Source, lies bool) *Fleet {
	f := NewFleet(b, maxLag)
	for range 3 {
		f.JoinLocal(t, "row:", source(b))
	}
	f.Run(t, func() {
		time.Sleep(4 * maxLag)
		for end := time.Now().Add(30 * time.Second); lies && f.Stale() == 0 && time.Now().Before(end); {
			time.Sleep(maxLag)
		}
	})
	return f
}

func honest(s near.Source) near.Source { return s }

// Catches: a fleet or an oracle that finds an honest source wrong.
func TestHonestSource(t *testing.T) {
	run(t, &board{}, honest, false).Verdict(t)
}

// Catches: an oracle that finds nothing, whatever a source breaks.
func TestLiars(t *testing.T) {
	for name, c := range map[string]struct {
		early  time.Duration
		source func(near.Source) near.Source
	}{
		"drops 15 of 100": {source: func(s near.Source) near.Source { return Drop(s, 0.15) }},
		"ahead":           {source: func(s near.Source) near.Source { return Ahead(s, 4*maxLag) }},
		"tells early":     {early: maxLag / 4, source: honest},
	} {
		t.Run(name, func(t *testing.T) {
			f := run(t, &board{early: c.early, rare: true}, c.source, true)
			t.Log(f)
			if f.Stale() == 0 {
				t.Error("the oracle finds nothing")
			}
		})
	}
}

// A counter makes marks: it counts them, and each source over it knows the count by moments of its
// own.
type counter struct {
	near.Source
	marks *atomic.Int64

	mu    sync.Mutex
	known int64
	by    time.Time
}

func (c *counter) Mark(context.Context) (near.Mark, error) {
	return near.Mark(strconv.FormatInt(c.marks.Add(1), 10)), nil
}

func (c *counter) Moment(mark near.Mark) (time.Time, bool) {
	n, err := strconv.ParseInt(string(mark), 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by, err == nil && n <= c.known
}

func (c *counter) Watch(ctx context.Context, w near.Watcher) {
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() {
		for ctx.Err() == nil {
			known := c.marks.Load()
			c.mu.Lock()
			c.known, c.by = known, time.Now()
			c.mu.Unlock()
			time.Sleep(maxLag / 10)
		}
	})
	c.Source.Watch(ctx, w)
}

// marked has a fleet of three read a board since marks, some of them over instances that are
// changed.
func marked(t *testing.T, change func(Marking) Marking, lies bool) *Fleet {
	b, marks := &board{rare: true}, new(atomic.Int64)
	f := NewFleet(b, maxLag)
	f.Marks = true
	for range 3 {
		f.JoinLocal(t, "row:", &counter{Source: b, marks: marks})
	}
	for i, one := range f.instances {
		f.instances[i] = change(one.(Marking))
	}
	f.Run(t, func() {
		for end := time.Now().Add(30 * time.Second); lies && f.Older() == 0 && time.Now().Before(end); {
			time.Sleep(maxLag)
		}
	})
	return f
}

// Catches: an oracle that finds good marks wrong, or nothing wrong with those that were made before
// the write.
func TestMarks(t *testing.T) {
	marked(t, func(m Marking) Marking { return m }, false).Verdict(t)
	f := marked(t, MarkedEarly, true)
	t.Log(f)
	if f.Older() == 0 {
		t.Error("the oracle finds nothing")
	}
}

// A revoked board acknowledges a write when a time has passed after it.
type revoked struct {
	*board
	wait time.Duration
}

func (r revoked) Write(ctx context.Context, row, version int) error {
	err := r.board.Write(ctx, row, version)
	time.Sleep(r.wait)
	return err
}

// Catches: an oracle that finds a removal that has arrived everywhere wrong, or nothing wrong with one
// that waits for the MaxLag of the caller only, when that of others is longer.
func TestRevocations(t *testing.T) {
	for _, c := range []struct {
		wait time.Duration
		lies bool
	}{
		{maxLag + maxLag/100, false},
		{maxLag / 6, true},
	} {
		f := NewFleet(revoked{&board{}, c.wait}, maxLag)
		f.Certain = true
		for range 3 {
			f.JoinLocal(t, "row:", Late(f.truth.(revoked).board, maxLag/2))
		}
		f.Run(t, func() {
			for end := time.Now().Add(30 * time.Second); c.lies && f.Stale() == 0 && time.Now().Before(end); {
				time.Sleep(maxLag)
			}
		})
		if c.lies {
			t.Log(f)
			if f.Stale() == 0 {
				t.Error("the oracle finds nothing")
			}
			continue
		}
		f.Verdict(t)
	}
}

// A deaf instance does not always heed contexts.
type deaf struct{ local }

func (d deaf) Take(_ context.Context, row int, load func(context.Context) (int, error)) (int, error) {
	if rand.N(100) == 0 {
		time.Sleep(3 * maxLag)
	}
	return d.local.Take(context.Background(), row, load)
}

// Catches: a stop-watch that does not see that callers wait for longer than their contexts.
func TestStopWatch(t *testing.T) {
	f := NewFleet(&board{}, maxLag)
	f.JoinLocal(t, "row:", &board{})
	f.instances[0] = deaf{f.instances[0].(local)}
	f.Run(t, func() {
		for end := time.Now().Add(time.Minute); f.Overdue() == 0 && time.Now().Before(end); {
			time.Sleep(maxLag)
		}
	})
	if f.Overdue() == 0 {
		t.Error("the stop-watch finds nothing")
	}
}

// Catches: a proxy that hangs when connections begin and end during faults.
func TestFaultsEnd(t *testing.T) {
	talker, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var talking sync.WaitGroup
	talking.Go(func() {
		for {
			conn, err := talker.Accept()
			if err != nil {
				return
			}
			talking.Go(func() {
				defer conn.Close()
				for data := make([]byte, 512); err == nil; time.Sleep(time.Millisecond) {
					_, err = conn.Write(data)
				}
			})
		}
	})
	p := NewProxy(t, talker.Addr().String())
	stop := make(chan struct{})
	for range 10 {
		talking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := net.Dial("tcp", p.Addr)
				if err != nil {
					continue
				}
				_ = conn.SetDeadline(time.Now().Add(rand.N(100 * time.Millisecond)))
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
		})
	}
	InTime(t, "faults", func() {
		for range 10 {
			for _, fault := range Faults {
				p.Suffer(fault, rand.N(10*time.Millisecond), ToServer, FromServer)
			}
		}
	})
	close(stop)
	talker.Close()
	InTime(t, "the end of the connections", talking.Wait)
}
