package snapshot

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"pgregory.net/rapid"
)

type record struct {
	Entry
	payload string
}

// write returns a snapshot of records.
func write(t rapid.TB, h Header, records []record) []byte {
	var file bytes.Buffer
	w, _ := NewWriter(&file, h) // Close returns its error, and those of Write
	var body []byte
	for _, r := range records {
		body = append(r.Append(body[:0]), r.payload...)
		_ = w.Write(body)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// read returns the header and the records of a snapshot up to an error, which is
// nil at its end.
func read(file io.Reader) (h Header, records []record, err error) {
	r, err := NewReader(file)
	if err != nil {
		return h, nil, err
	}
	for {
		e, payload, err := r.Next()
		if err == io.EOF {
			return r.Header, records, nil
		}
		if err != nil {
			return r.Header, records, err
		}
		records = append(records, record{e, string(payload)})
	}
}

func anyRecord(t *rapid.T) record {
	e := Entry{Mark: rapid.Uint8Range(0, 3).Draw(t, "mark"), Expires: rapid.Bool().Draw(t, "expires"), Weighed: rapid.Bool().Draw(t, "weighed")}
	if e.Expires {
		e.Deadline = rapid.Int64().Draw(t, "deadline")
	}
	if e.Weighed {
		e.Weight = rapid.Uint32().Draw(t, "weight")
	}
	return record{e, rapid.String().Draw(t, "payload")}
}

// TestRoundTrip: what was written is read, in its order, also byte by byte.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Header{
			Schema: rapid.StringN(0, 100, MaxSchema).Draw(t, "schema"), Saved: rapid.Int64().Draw(t, "saved"),
			Entries: rapid.Uint64().Draw(t, "entries"), Weight: rapid.Uint64().Draw(t, "weight"),
		}
		records := rapid.SliceOf(rapid.Custom(anyRecord)).Draw(t, "records")
		file := write(t, h, records)
		for _, r := range []io.Reader{bytes.NewReader(file), iotest.OneByteReader(bytes.NewReader(file))} {
			gotHeader, got, err := read(r)
			if err != nil || gotHeader != h || !slices.Equal(got, records) {
				t.Fatalf("read %v, %v, %v; want %v, %v", gotHeader, got, err, h, records)
			}
		}
	})
}

func sample(t rapid.TB) ([]byte, []record) {
	records := []record{
		{Entry{}, ""},
		{Entry{Mark: 3, Expires: true, Deadline: 1<<60 + 12345}, "one"},
		{Entry{Mark: 1, Weighed: true, Weight: 70_000}, strings.Repeat("two", 50)},
		{Entry{Mark: 2, Expires: true, Weighed: true, Deadline: -5, Weight: 1}, "three"},
	}
	return write(t, Header{Schema: "v1", Saved: 1 << 60, Entries: 4, Weight: 70_001}, records), records
}

// TestCutAnywhere: a file that was cut is an error that says so, and what is read
// before is right.
func TestCutAnywhere(t *testing.T) {
	file, records := sample(t)
	for n := range file {
		_, got, err := read(bytes.NewReader(file[:n]))
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at byte %d of %d: %v, %v", n, len(file), got, err)
		}
		if !slices.Equal(got, records[:len(got)]) {
			t.Fatalf("cut at byte %d: read %v", n, got)
		}
	}
}

// TestAnyBitFlipped: every flipped bit is an error, and none changes a value that is read.
func TestAnyBitFlipped(t *testing.T) {
	file, records := sample(t)
	for bit := range len(file) * 8 {
		bad := slices.Clone(file)
		bad[bit/8] ^= 1 << (bit % 8)
		_, got, err := read(bytes.NewReader(bad))
		if err == nil {
			t.Fatalf("bit %d of byte %d flipped: no error", bit%8, bit/8)
		}
		if !slices.Equal(got, records[:len(got)]) {
			t.Fatalf("bit %d of byte %d flipped: read %v", bit%8, bit/8, got)
		}
	}
}

// TestRecordsLostOrExchanged: each record is whole, but not in its place.
func TestRecordsLostOrExchanged(t *testing.T) {
	one := write(t, Header{}, []record{{payload: "aaaa"}, {payload: "bbbb"}, {payload: "cccc"}})
	none := write(t, Header{}, nil)
	const trailer = 6
	begin := len(none) - trailer
	size := (len(one) - len(none)) / 3
	a, b, c := one[begin:begin+size], one[begin+size:begin+2*size], one[begin+2*size:begin+3*size]
	for name, middle := range map[string][][]byte{
		"lost": {a, c}, "the last lost": {a, b}, "doubled": {a, a, b, c}, "exchanged": {b, a, c}, "none left": {},
	} {
		bad := slices.Clone(one[:begin])
		for _, r := range middle {
			bad = append(bad, r...)
		}
		bad = append(bad, one[len(one)-trailer:]...)
		if _, got, err := read(bytes.NewReader(bad)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, _, err := read(bytes.NewReader(append(slices.Clone(one), 0))); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte behind the end: %v", err)
	}
}

// TestErrorsSayWhatAndWhere, also those of the reader and writer below.
func TestErrorsSayWhatAndWhere(t *testing.T) {
	file, _ := sample(t)
	damaged := slices.Clone(file)
	damaged[len(damaged)-10] ^= 1
	other := slices.Clone(file)
	other[len(magic)] = 9
	for _, test := range []struct {
		file []byte
		want string
	}{
		{nil, "it ends in the header, at byte 0"},
		{[]byte(`{"key": "value"}`), `it begins with "{\"key\": ", not with "pinwheel"`},
		{other, "version 9"},
		{file[:len(file)-1], "it ends at the end, after 4 entries"},
		{damaged, "in entry 4, before byte"},
	} {
		if _, _, err := read(bytes.NewReader(test.file)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: want %q", err, test.want)
		}
	}

	broken := errors.New("broken disk")
	_, _, err := read(io.MultiReader(bytes.NewReader(file[:len(file)/2]), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("reading from a broken disk: %v", err)
	}
	w, err := NewWriter(brokenWriter{broken}, Header{})
	if err == nil {
		for range bufferSize {
			err = w.Write([]byte{0})
		}
	}
	if closed := w.Close(); !errors.Is(err, broken) || !errors.Is(closed, broken) {
		t.Errorf("writing to a broken disk: %v, then %v", err, closed)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// TestUnknownFlags: a record with flags that this program does not know is an error, also with
// the right checksum.
func TestUnknownFlags(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{})
	settle.Must(t, errors.Join(err, w.Write([]byte{knownFlags + 1}), w.Close()))
	if _, got, err := read(&file); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "flags 0x10") {
		t.Errorf("%v, %v", got, err)
	}
}

// TestLengthWithoutBytes: a length takes no memory before its bytes are there.
func TestLengthWithoutBytes(t *testing.T) {
	file := write(t, Header{}, nil)
	file = append(file[:len(file)-6], 0xff, 0xff, 0xff, 0xff, 0x03) // claims that 1<<30 - 1 bytes follow
	r, err := NewReader(bytes.NewReader(file))
	settle.Must(t, err)
	if _, _, err := r.Next(); !errors.Is(err, ErrDamaged) || r.buffer.Cap() > 1<<16 {
		t.Errorf("%v, with %d bytes made ready", err, r.buffer.Cap())
	}
}

// TestTooLongAnEntry is an error when it is written, not when it is read.
func TestTooLongAnEntry(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{})
	settle.Must(t, err)
	if err := w.Write(make([]byte, MaxRecord+1)); err == nil {
		t.Error("no error")
	}
}

// FuzzRead: no file makes the reader panic, and it accepts only what a Writer writes.
func FuzzRead(f *testing.F) {
	file, _ := sample(f)
	f.Add(file)
	f.Add(file[:20])
	f.Add([]byte(magic))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, records, err := read(bytes.NewReader(file))
		if err != nil {
			return
		}
		if again := write(t, h, records); !bytes.Equal(again, file) {
			t.Errorf("%x was read without an error, and is not what is written: %x", file, again)
		}
	})
}
