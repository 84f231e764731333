package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/pinwheel-cache/pinwheel/internal/recording"
)

// An input reads accesses from files.
type input struct {
	parser parser
	trace  *trace

	lines, skipped uint64
	firstSkipped   string // where and why

	recorded *recordingInfo // nil unless the input is a recording
}

const (
	longestLine = 1 << 20
	sniffed     = 4096 // bytes of a file that tell its format
)

// readFiles reads files in order; "-" is standard input.
func (in *input) readFiles(names []string, stdin io.Reader) error {
	for _, name := range names {
		if err := in.readFile(name, stdin); err != nil {
			return err
		}
	}
	if in.lines > 0 && in.skipped == in.lines {
		return fmt.Errorf("no line could be read: %s", in.firstSkipped)
	}
	if in.trace.total == 0 {
		return fmt.Errorf("there is nothing to read in %v: want a key on each line", names)
	}
	return nil
}

func (in *input) readFile(name string, stdin io.Reader) error {
	if name == "-" {
		return in.read("standard input", stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return in.read(name, f)
}

func (in *input) read(name string, r io.Reader) error {
	b := bufio.NewReaderSize(r, longestLine)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte("\x1f\x8b")) {
		unpacked, err := gzip.NewReader(b)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b = bufio.NewReaderSize(unpacked, longestLine)
	}
	head, _ := b.Peek(sniffed) // an error comes again below
	if recording.IsRecording(head) {
		return in.readRecording(name, b)
	}
	if i := bytes.IndexByte(head, 0); i >= 0 {
		return fmt.Errorf("%s is not text: byte %d is zero: want lines, also in gzip", name, i)
	}
	if in.recorded != nil {
		return fmt.Errorf("%s comes after a recording: want no other file with it", name)
	}
	return in.readLines(name, b)
}

func (in *input) readLines(name string, b *bufio.Reader) error {
	for n := 1; ; n++ {
		line, err := b.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("%s: line %d is longer than %d bytes: want lines of text", name, n, longestLine)
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: after line %d: %w", name, n-1, err)
		}
		if len(line) > 0 {
			if err := in.readLine(name, n, bytes.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

func (in *input) readLine(name string, n int, line []byte) error {
	a, isHeader, err := in.parser.access(n, line)
	var wrong *headerError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if isHeader {
		return nil
	}
	in.lines++
	if err != nil {
		if in.skipped++; in.skipped == 1 {
			in.firstSkipped = fmt.Sprintf("%s, line %d, %s: %v", name, n, excerpt(line), err)
		}
		return nil
	}
	in.trace.add(a)
	return nil
}

// excerpt returns a line, or its beginning, for a message.
func excerpt(line []byte) string {
	const most = 60
	if len(line) <= most {
		return strconv.Quote(string(line))
	}
	line = line[:most]
	for !utf8.Valid(line) && len(line) > most-utf8.UTFMax {
		line = line[:len(line)-1]
	}
	return strconv.Quote(string(line)) + "…"
}
