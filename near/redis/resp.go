package redis

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The protocol of Redis, for connections that rueidis has not got yet, or does not know.

// request returns a command as Redis reads it.
func request(command []string) string {
	text := fmt.Sprintf("*%d\r\n", len(command))
	for _, arg := range command {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
	}
	return text
}

// readMessage reads what a subscriber gets: an array of two to four strings, of which the last
// may be a number, which is left empty.
func readMessage(in *bufio.Reader) ([]string, error) {
	_, n, err := readNumber(in, "*")
	if err == nil && (n < 2 || n > 4) {
		err = fmt.Errorf("it sent a message of %d parts", n)
	}
	if err != nil {
		return nil, err
	}
	parts := make([]string, n)
	for i := range parts {
		kind, number, err := readNumber(in, "$:")
		if err != nil {
			return nil, err
		}
		if kind == ':' {
			continue
		}
		text := make([]byte, number+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		parts[i] = string(text[:number])
	}
	return parts, nil
}

// readNumber reads a line with a number of one of the kinds. Other lines are errors.
func readNumber(in *bufio.Reader, kinds string) (kind byte, n uint64, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if !strings.Contains(kinds, string(line[:1])) {
		return 0, 0, fmt.Errorf("it sent %.200q", line)
	}
	n, err = strconv.ParseUint(strings.TrimSpace(string(line[1:])), 10, 30)
	return line[0], n, err
}
