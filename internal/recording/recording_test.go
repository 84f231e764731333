package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

var users = Header{Cache: "users", Policy: "lru", Limit: 100, OneIn: 1}

func noCounters() Counters { return Counters{} }

// read returns what a recording has.
func read(recording []byte) (h Header, all []Access, end End, err error) {
	end, err = Read(bytes.NewReader(recording), func(got Header) { h = got }, func(a Access) error {
		all = append(all, a)
		return nil
	})
	return h, all, end, err
}

func drawAccess(t *rapid.T) Access {
	a := Access{Op: Op(rapid.IntRange(int(Get), int(Clear)).Draw(t, "op"))}
	a.Hit = a.Op == Get && rapid.Bool().Draw(t, "hit")
	if a.Op != Clear {
		a.Key = rapid.Uint64().Draw(t, "key")
	}
	a.Weight = rapid.Uint32().Draw(t, "weight")
	a.TTL = time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "ttl")) * time.Millisecond / 1000
	return a
}

// TestRoundTrip checks that the accesses added are read again, with their times, and with keys
// that are hashed, each always to the same hash.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOf(rapid.Custom(drawAccess)).Draw(rt, "accesses")
		waits := rapid.SliceOfN(rapid.IntRange(0, 3000), len(all), len(all)).Draw(rt, "ms between them")
		var wrong error
		synctest.Test(t, func(*testing.T) { wrong = roundTrip(all, waits) })
		if wrong != nil {
			rt.Fatal(wrong)
		}
	})
}

// roundTrip records accesses, with waits in milliseconds before each, and returns what is wrong
// with the recording.
func roundTrip(all []Access, waits []int) error {
	r := NewRecorder(1)
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	var failed error
	calls := uint64(0)
	done.Go(func() {
		failed = r.Run(ctx, &out, users, func() Counters { calls++; return Counters{Hits: calls, Limit: 7} })
	})
	synctest.Wait()
	start := time.Now()
	var want []Access
	for i, a := range all {
		time.Sleep(time.Duration(waits[i]) * time.Millisecond)
		r.Add(a)
		a.At = time.Since(start)
		a.TTL = (a.TTL + time.Millisecond - 1) / time.Millisecond * time.Millisecond
		want = append(want, a)
	}
	duration := time.Since(start)
	cancel()
	done.Wait()
	r.Add(Access{Op: Get}) // ignored
	h, got, end, err := read(out.Bytes())
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	hidden := map[uint64]uint64{}
	for i := range min(len(got), len(want)) {
		w := &want[i]
		if w.Op == Clear {
			continue
		}
		if _, ok := hidden[w.Key]; !ok {
			hidden[w.Key] = got[i].Key
		}
		if hidden[w.Key] == w.Key {
			return fmt.Errorf("key %x is in the recording as it is", w.Key)
		}
		w.Key = hidden[w.Key]
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !h.Start.Equal(start) {
		return fmt.Errorf("the start is %v, want %v", h.Start, start)
	}
	h.Start = time.Time{}
	wantEnd := End{Counters{Hits: 1, Limit: 7}, Counters{Hits: 2, Limit: 7}, duration, uint64(len(all)), 0}
	if h != users || end != wantEnd {
		return fmt.Errorf("%+v and %+v, want %+v and %+v", h, end, users, wantEnd)
	}
	return nil
}

// recorded returns a recording of n accesses, in several blocks if n is large.
func recorded(t testing.TB, n int) []byte {
	t.Helper()
	r := NewRecorder(1)
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for i := range n {
		r.Add(Access{Op: Op(1 + i%5), Hit: i%10 == 0, Key: uint64(i), Weight: uint32(i % 3), TTL: time.Duration(i%2) * time.Second})
		if i%100 == 99 {
			_ = r.flush(&out) // before the beginning: Run writes that
		}
	}
	blocks := bytes.Clone(out.Bytes())
	out.Reset()
	settle.Must(t, r.Run(ctx, &out, users, noCounters))
	all := out.Bytes()
	head := bytes.IndexByte(all[len(Magic):], '}') + len(Magic) + 1 + blockTail
	return append(append(bytes.Clone(all[:head]), blocks...), all[head:]...)
}

var atByte = regexp.MustCompile(`^recording, byte (\d+): `)

// where returns the byte that an error names.
func where(t testing.TB, err error) int {
	t.Helper()
	m := atByte.FindStringSubmatch(fmt.Sprint(err))
	if m == nil {
		t.Fatalf("%v does not say where", err)
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// TestDamage checks that a changed byte, or a cut, anywhere is an error that names a place at
// most a block before it.
func TestDamage(t *testing.T) {
	good := recorded(t, 250)
	if _, all, _, err := read(good); err != nil || len(all) != 250 {
		t.Fatalf("%d accesses, %v", len(all), err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		_, _, _, err := read(bad)
		if err == nil {
			t.Fatalf("byte %d is changed, and nobody notices", i)
		}
		if at := where(t, err); at > i {
			t.Errorf("byte %d is changed, and the error is %v", i, err)
		}
		_, _, _, err = read(good[:i])
		if err == nil || !strings.Contains(err.Error(), "cut off") || where(t, err) > i {
			t.Errorf("cut off at %d, and the error is %v", i, err)
		}
	}
	_, _, _, err := read(append(bytes.Clone(good), 'x'))
	if err == nil || where(t, err) != len(good) {
		t.Errorf("a byte too many: %v", err)
	}
}

// TestNonsense checks that blocks with a right checksum and wrong contents are errors.
func TestNonsense(t *testing.T) {
	head := appendBlock([]byte(Magic), kindHeader, []byte(`{"one_in":1}`))
	accesses := func(payload ...byte) []byte { return appendBlock(bytes.Clone(head), kindAccesses, payload) }
	for _, test := range []struct {
		recording []byte
		want      string
	}{
		{[]byte("pinwheel recording 2\n..."), `begins with "pinwheel recording 2\n", and this program reads "pinwheel recording 1\n"`},
		{appendBlock([]byte(Magic), kindAccesses, nil), `the block is of kind 'A': want 'H'`},
		{appendBlock([]byte(Magic), kindHeader, []byte("{")), "unexpected end of JSON"},
		{appendBlock([]byte(Magic), kindHeader, []byte("{}")), "no one_in"},
		{appendBlock(bytes.Clone(head), 'x', nil), `the block is of kind 'x': want 'E'`},
		{append([]byte(Magic), 'H', 0xff, 0xff, 0xff, 0xff), "the block says that it has 4294967295 bytes"},
		{accesses(), "it ends within an access"},
		{accesses(0, 0x00), "0x00 is no access"},
		{accesses(0, 0x06), "0x06 is no access"},
		{accesses(0, 0x12), "0x12 is no access"},
		{accesses(0, 0x81), "0x81 is no access"},
		{accesses(0, 0x01, 0, 1, 2, 3), "it ends within an access"},
		{accesses(0, 0x25, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), "is too high"},
		{appendBlock(accesses(9, 0x05, 0), kindAccesses, []byte{8, 0x05, 0}), "the time goes back, from 9µs to 8µs"},
		{appendBlock(accesses(0, 0x05, 0), kindEnd, []byte(`{"accesses":2}`)), "there are 2 accesses before it, and there are 1"},
	} {
		_, _, _, err := read(test.recording)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.recording, err, test.want)
		}
		where(t, err)
	}
}

func TestReadEndsWithAnErrorOfAccess(t *testing.T) {
	enough := errors.New("enough")
	_, err := Read(bytes.NewReader(recorded(t, 10)), func(Header) {}, func(Access) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("%v, want %v", err, enough)
	}
}

// blocked is a writer that waits until the test releases it.
type blocked struct {
	may chan struct{}
	bytes.Buffer
}

func (w *blocked) Write(p []byte) (int, error) {
	<-w.may
	return w.Buffer.Write(p)
}

// TestSlowWriter checks that callers of the cache do not wait for the writer: accesses that it
// is too slow for are lost, and counted.
func TestSlowWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecorder(1)
		w := &blocked{may: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			if err := r.Run(ctx, w, users, noCounters); err != nil {
				t.Error(err)
			}
		})
		const n = 200_000
		for i := range n {
			r.Add(Access{Op: Get, Key: uint64(i)})
		}
		if len(r.pending) > maxPending {
			t.Errorf("%d bytes wait, want at most %d", len(r.pending), maxPending)
		}
		close(w.may)
		cancel()
		done.Wait()
		_, all, end, err := read(w.Bytes())
		if err != nil || end.Lost == 0 || end.Lost+end.Accesses != n || uint64(len(all)) != end.Accesses {
			t.Errorf("%d read, %+v, %v", len(all), end, err)
		}
	})
}

// failing is a writer that fails after left writes.
type failing struct{ left int }

var errFull = errors.New("no space left")

func (w *failing) Write(p []byte) (int, error) {
	if w.left == 0 {
		return 0, errFull
	}
	w.left--
	return len(p), nil
}

func TestWriterFails(t *testing.T) {
	for left := range 4 {
		synctest.Test(t, func(t *testing.T) {
			r := NewRecorder(1)
			ctx, cancel := context.WithTimeout(t.Context(), 2*flushEvery+flushEvery/2)
			defer cancel()
			var done sync.WaitGroup
			done.Go(func() {
				for range 3 {
					r.Add(Access{Op: Get, Key: 1})
					time.Sleep(flushEvery)
				}
			})
			if err := r.Run(ctx, &failing{left}, users, noCounters); !errors.Is(err, errFull) {
				t.Errorf("after %d writes: %v, want %v", left, err, errFull)
			}
			done.Wait()
			if !r.ended {
				t.Error("it goes on to collect")
			}
		})
	}
}

// TestSampleOfKeys checks that a Recorder sees one key in oneIn, and another Recorder others.
func TestSampleOfKeys(t *testing.T) {
	a, b := NewRecorder(64), NewRecorder(64)
	seen, both := 0, 0
	for i := range uint64(1 << 20) {
		h := i * 0x9E3779B97F4A7C15
		h ^= h >> 29
		h *= 0xbf58476d1ce4e5b9
		if a.Sees(h) {
			seen++
			if b.Sees(h) {
				both++
			}
		}
	}
	if seen < 1<<14*9/10 || seen > 1<<14*11/10 || both > 1000 {
		t.Errorf("%d of %d seen, want some %d; %d by both, want some 256", seen, 1<<20, 1<<14, both)
	}
	if r := NewRecorder(1); !r.Sees(0) || !r.Sees(1<<64-1) {
		t.Error("one in one is not all")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(recorded(f, 3))
	f.Add([]byte(Magic))
	f.Add(seal([]byte{0, 0x71, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9}))
	f.Fuzz(func(t *testing.T, recording []byte) {
		for _, b := range [][]byte{recording, seal(recording)} {
			_, all, end, err := read(b)
			if err == nil && end.Accesses != uint64(len(all)) {
				t.Errorf("%d accesses, and %d by the end", len(all), end.Accesses)
			}
			if err != nil && where(t, err) > len(b) {
				t.Errorf("%v, of %d bytes", err, len(b))
			}
		}
	})
}

// seal turns any bytes into a recording whose blocks have right checksums, so that a fuzzer
// reaches the code behind the check.
func seal(payload []byte) []byte {
	b := appendBlock([]byte(Magic), kindHeader, []byte(`{"one_in":1}`))
	return appendBlock(b, kindAccesses, payload)
}

// TestOldRecording reads a recording of this version from the corpus, as later versions must.
func TestOldRecording(t *testing.T) {
	name := filepath.Join("testdata", "version-1.recording")
	if os.Getenv("WRITE_RECORDING") != "" {
		settle.Must(t, os.WriteFile(name, recorded(t, 250), 0o600))
	}
	b, err := os.ReadFile(name)
	settle.Must(t, err)
	h, all, _, err := read(b)
	if err != nil || len(all) != 250 || h.Cache != "users" || all[10].Op != Get || !all[10].Hit {
		t.Errorf("%+v, %d accesses, %v", h, len(all), err)
	}
}
