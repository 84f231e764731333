package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// A subscriber is a connection on which a server publishes messages. It speaks RESP2, which every
// server does, and hands out all messages in the order in which they were published: those of
// patterns and those of channels, which a client of Redis may let overtake each other.
type subscriber struct {
	conn net.Conn
	from *bufio.Reader
}

// A message was published on a channel.
type message struct {
	channel, text string
	exact         bool // it came as the channel was named, not for a pattern
}

// dialSubscriber connects to a server and subscribes. All messages from its return on are heard.
func dialSubscriber(ctx context.Context, o rueidis.ClientOption, addr string, patterns []string, channels ...string) (*subscriber, error) {
	conn, err := dialer(o)(ctx, addr, &o.Dialer, o.TLSConfig)
	if err != nil {
		return nil, err
	}
	s := &subscriber{conn: conn, from: bufio.NewReaderSize(conn, 1<<16)}
	_ = conn.SetDeadline(time.Now().Add(o.Dialer.Timeout))
	defer conn.SetDeadline(time.Time{})
	defer context.AfterFunc(ctx, s.close)()
	auth, err := authCommand(conn, o)
	if err == nil && auth != nil {
		var said refusedError
		if _, err = call(conn, s.from, auth); errors.As(err, &said) {
			err = nil // it counts if the server wants to know more
		}
	}
	if err == nil {
		_, err = io.WriteString(conn, wire(append([]string{"PSUBSCRIBE"}, patterns...))+wire(append([]string{"SUBSCRIBE"}, channels...)))
	}
	for confirmed := 0; err == nil && confirmed < len(channels); {
		var words []string
		if words, err = s.words(); err == nil && words[0] == "subscribe" {
			confirmed++ // and the patterns before
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *subscriber) close() { s.conn.Close() }

// next returns the next message.
func (s *subscriber) next() (message, error) {
	for {
		words, err := s.words()
		if err != nil {
			return message{}, err
		}
		switch {
		case len(words) == 4 && words[0] == "pmessage":
			return message{channel: words[2], text: words[3]}, nil
		case len(words) == 3 && words[0] == "message":
			return message{channel: words[1], text: words[2], exact: true}, nil
		}
	}
}

// words reads an array. A refusal is an error.
func (s *subscriber) words() ([]string, error) {
	line, err := s.line()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(line[1:])
	switch {
	case line[0] == '-':
		return nil, refusedError(line[1:])
	case line[0] != '*' || err != nil || n < 1:
		return nil, fmt.Errorf("%q is no message", line)
	}
	var words []string
	for range n {
		word, err := s.word()
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, nil
}

// word reads a string or a number.
func (s *subscriber) word() (string, error) {
	line, err := s.line()
	if err != nil {
		return "", err
	}
	if line[0] == ':' {
		return line[1:], nil
	}
	size, err := strconv.Atoi(line[1:])
	if line[0] != '$' || err != nil || size > mostWord {
		return "", fmt.Errorf("%q is no part of a message", line)
	}
	if size < 0 { // nil
		return "", nil
	}
	data := make([]byte, size+len("\r\n"))
	_, err = io.ReadFull(s.from, data)
	return string(data[:size]), err
}

// mostWord is the most bytes of a string that Redis has.
const mostWord = 512 << 20

func (s *subscriber) line() (string, error) {
	line, err := s.from.ReadString('\n')
	if err != nil {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("an empty line is no message")
	}
	return line, nil
}

// wire returns a command as it is sent.
func wire(command []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, arg := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b.String()
}
