package recording

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"io"
	mathrand "math/rand/v2"
	"sync"
	"time"
)

const (
	// wakeAt is how many pending bytes wake the writer. At most maxPending wait for it: further
	// accesses are lost, as no caller of the cache may wait for a disk or a network.
	wakeAt     = 64 << 10
	maxPending = 1 << 20

	// flushEvery is the longest that an access waits for the writer to wake.
	flushEvery = time.Second
)

// A Recorder collects the accesses to a sample of keys, for [Recorder.Run] to write. It
// is safe for concurrent use. Its lock comes after those of a cache's shards.
type Recorder struct {
	below, salt uint64
	start       time.Time
	wake        chan struct{} // has room for one

	mu       sync.Mutex
	prf      cipher.Block
	scratch  [aes.BlockSize]byte
	pending  []byte // the payload of the next block; empty if there is none
	latest   uint64 // microseconds
	unused   []byte // becomes pending while the writer has the other
	accesses uint64
	lost     uint64
	ended    bool // further accesses are ignored
}

// NewRecorder returns a Recorder of one key in oneIn, which must be at least 1, with new random
// seeds.
func NewRecorder(oneIn uint64) *Recorder {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // it never fails
	prf, err := aes.NewCipher(secret)
	if err != nil {
		panic(err) // cannot happen: 16 bytes are a valid key
	}
	return &Recorder{
		below: (1 << 32) / oneIn,
		salt:  mathrand.Uint64(),
		start: time.Now(),
		wake:  make(chan struct{}, 1),
		prf:   prf,
	}
}

// Sees reports whether the key with hash h is in the sample. It is inlined, so that most
// keys cost no more than this.
func (r *Recorder) Sees(h uint64) bool { return (h^r.salt)*golden>>32 < r.below }

const golden = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio

// Add records an access that happens now; its At is ignored. Its Key is the hash of a key
// that the Recorder sees; the recording gets a keyed hash of that.
func (r *Recorder) Add(a Access) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if len(r.pending) > maxPending-longestAccess {
		r.lost++
		return
	}
	now := uint64(time.Since(r.start).Microseconds())
	if len(r.pending) == 0 {
		r.pending = binary.AppendUvarint(r.pending, now)
		r.latest = now
	}
	if a.Op != Clear {
		a.Key = r.hidden(a.Key)
	}
	before := len(r.pending)
	r.pending = appendAccess(r.pending, a, now-r.latest)
	r.latest = now
	r.accesses++
	if before < wakeAt && len(r.pending) >= wakeAt {
		select {
		case r.wake <- struct{}{}:
		default: // the writer is awake
		}
	}
}

// hidden returns the keyed hash of a hash. r.mu must be held.
func (r *Recorder) hidden(h uint64) uint64 {
	r.scratch = [aes.BlockSize]byte{}
	binary.LittleEndian.PutUint64(r.scratch[:], h)
	r.prf.Encrypt(r.scratch[:], r.scratch[:])
	return binary.LittleEndian.Uint64(r.scratch[:])
}

// Run writes a recording to w until ctx ends, and then its End. Call it only once: accesses that
// are added after it are ignored. If w returns an error, Run writes nothing more and returns that.
func (r *Recorder) Run(ctx context.Context, w io.Writer, h Header, counters func() Counters) error {
	defer r.end()
	h.Start = r.start
	first := counters()
	if err := writeJSON(w, Magic, kindHeader, h); err != nil {
		return err
	}
	if err := r.writeUntil(ctx, w); err != nil {
		return err
	}
	end := r.end()
	end.First, end.Last = first, counters()
	if err := r.flush(w); err != nil {
		return err
	}
	return writeJSON(w, "", kindEnd, end)
}

// writeJSON writes a block after what comes before it, in one call.
func writeJSON(w io.Writer, before string, kind byte, v any) error {
	payload, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(appendBlock([]byte(before), kind, payload))
	}
	return err
}

// end makes Add ignore further accesses, and returns the counts.
func (r *Recorder) end() End {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return End{Duration: time.Since(r.start), Accesses: r.accesses, Lost: r.lost}
}

// writeUntil writes accesses as they are added, until ctx ends.
func (r *Recorder) writeUntil(ctx context.Context, w io.Writer) error {
	ticks := time.NewTicker(flushEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		case <-r.wake:
		}
		if err := r.flush(w); err != nil {
			return err
		}
	}
}

// flush writes pending as a block, unless it is empty.
func (r *Recorder) flush(w io.Writer) error {
	r.mu.Lock()
	payload := r.pending
	r.pending, r.unused = r.unused[:0], nil
	r.mu.Unlock()
	var err error
	if len(payload) > 0 {
		_, err = w.Write(appendBlock(nil, kindAccesses, payload))
	}
	r.mu.Lock()
	r.unused = payload
	r.mu.Unlock()
	return err
}
