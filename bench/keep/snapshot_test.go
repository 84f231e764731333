package keep

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/Yiling-J/theine-go"
	"github.com/maypok86/otter/v2"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
)

// million is the number of entries; -short makes it a few, to test that the benchmarks work.
var million = 1_000_000

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		million = 10_000
	}
	os.Exit(m.Run())
}

// A user is a value to encode.
type user struct {
	ID         int64
	Name, Mail string
	Visits     uint32
}

func userOf(i int) user {
	n := strconv.Itoa(i)
	return user{int64(i), "user " + n, n + "@example.com", uint32(i % 1000)}
}

func keyOf(i int) string { return "user:" + strconv.Itoa(i) }

// byHand encodes an entry without allocating.
func byHand(dst []byte, key string, u user) ([]byte, error) {
	for _, s := range []string{key, u.Name, u.Mail} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	dst = binary.AppendVarint(dst, u.ID)
	return binary.AppendUvarint(dst, uint64(u.Visits)), nil
}

func fromHand(b []byte) (key string, u user, err error) {
	var text [3]string
	for i := range text {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			return "", u, io.ErrUnexpectedEOF
		}
		b = b[used:]
		text[i], b = string(b[:n]), b[n:]
	}
	id, used := binary.Varint(b)
	if used <= 0 {
		return "", u, io.ErrUnexpectedEOF
	}
	visits, more := binary.Uvarint(b[used:])
	if more <= 0 {
		return "", u, io.ErrUnexpectedEOF
	}
	return text[0], user{id, text[1], text[2], uint32(visits)}, nil
}

// A saver is a cache of users that can be saved and restored.
type saver struct {
	name string
	open func() kept
}

type kept struct {
	set     func(string, user)
	save    func(io.Writer) error
	restore func(io.Reader) error
	len     func() int
	close   func()
}

func savers() []saver {
	return []saver{
		{"pinwheel-hand", func() kept { return pinwheel(func() (encode, decode) { return byHand, fromHand }) }},
		{"pinwheel-gob", func() kept { return pinwheel(func() (encode, decode) { return codec.Gob[string, user]() }) }},
		{"pinwheel-json", func() kept { return pinwheel(func() (encode, decode) { return codec.JSON[string, user]() }) }},
		{"otter", otterCache},
		{"theine", theineCache},
	}
}

type (
	encode = func([]byte, string, user) ([]byte, error)
	decode = func([]byte) (string, user, error)
)

func pinwheel(codec func() (encode, decode)) kept {
	c := cache.Must(cache.Options[string, user]{Limit: 2 * million, Expire: time.Hour})
	return kept{
		set:     c.Set,
		save:    func(w io.Writer) error { encode, _ := codec(); return c.Save(w, encode) },
		restore: func(r io.Reader) error { _, decode := codec(); _, err := c.Restore(r, decode); return err },
		len:     c.Len,
		close:   func() { _ = c.Close(context.Background()) },
	}
}

func otterCache() kept {
	c := otter.Must(&otter.Options[string, user]{MaximumSize: 2 * million, ExpiryCalculator: otter.ExpiryWriting[string, user](time.Hour)})
	return kept{
		set:     func(key string, u user) { c.Set(key, u) },
		save:    func(w io.Writer) error { return otter.SaveCacheTo(c, w) },
		restore: func(r io.Reader) error { return otter.LoadCacheFrom(c, r) },
		len:     func() int { c.CleanUp(); return c.EstimatedSize() },
		close:   func() { c.StopAllGoroutines() },
	}
}

func theineCache() kept {
	c, err := theine.NewBuilder[string, user](int64(2 * million)).Build()
	if err != nil {
		panic(err)
	}
	return kept{
		set:     func(key string, u user) { c.SetWithTTL(key, u, 1, time.Hour) },
		save:    func(w io.Writer) error { return c.SaveCache(1, w) },
		restore: func(r io.Reader) error { return c.LoadCache(1, r) },
		len:     func() int { c.Wait(); return c.Len() },
		close:   c.Close,
	}
}

// filled returns a cache with a million users.
func filled(b *testing.B, s saver) kept {
	c := s.open()
	for i := range million {
		c.set(keyOf(i), userOf(i))
	}
	if n := c.len(); n < million*99/100 {
		b.Fatalf("%s has %d entries", s.name, n)
	}
	return c
}

// BenchmarkSave writes a million entries into memory.
func BenchmarkSave(b *testing.B) {
	for _, s := range savers() {
		b.Run(s.name, func(b *testing.B) {
			c := filled(b, s)
			defer c.close()
			out := bytes.NewBuffer(make([]byte, 0, 256<<20))
			runtime.GC()
			for b.Loop() {
				out.Reset()
				if err := c.save(out); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(out.Len()))
			b.ReportMetric(float64(out.Len())/float64(million), "B/entry")
		})
	}
}

// BenchmarkRestore reads them into an empty cache.
func BenchmarkRestore(b *testing.B) {
	for _, s := range savers() {
		b.Run(s.name, func(b *testing.B) {
			var file bytes.Buffer
			full := filled(b, s)
			if err := full.save(&file); err != nil {
				b.Fatal(err)
			}
			full.close()
			b.SetBytes(int64(file.Len()))
			for range b.N {
				b.StopTimer()
				c := s.open()
				runtime.GC()
				b.StartTimer()
				if err := c.restore(bytes.NewReader(file.Bytes())); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if n := c.len(); n < million*99/100 {
					b.Fatalf("%s restored %d entries", s.name, n)
				}
				c.close()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkGetBesideSave times single Gets of pinwheel, without Saves and during one Save
// after another.
func BenchmarkGetBesideSave(b *testing.B) {
	c := cache.Must(cache.Options[string, user]{Limit: 2 * million, Expire: time.Hour})
	defer c.Close(context.Background())
	keys := make([]string, million)
	for i := range keys {
		keys[i] = keyOf(i)
		c.Set(keys[i], userOf(i))
	}
	for _, beside := range []bool{false, true} {
		b.Run(map[bool]string{false: "alone", true: "beside"}[beside], func(b *testing.B) {
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for beside {
					select {
					case <-stop:
						return
					default:
						_ = c.Save(io.Discard, byHand)
					}
				}
			}()
			const gets = 400_000
			took := make([]time.Duration, 0, gets)
			for b.Loop() {
				took = took[:0]
				for i := range gets {
					begin := time.Now()
					c.Get(keys[i*7919%million])
					took = append(took, time.Since(begin))
				}
			}
			close(stop)
			<-stopped
			slices.Sort(took)
			b.ReportMetric(float64(took[gets/2]), "p50-ns")
			b.ReportMetric(float64(took[gets*999/1000]), "p99.9-ns")
			b.ReportMetric(float64(took[gets-1]), "max-ns")
			b.ReportMetric(0, "ns/op")
		})
	}
}
