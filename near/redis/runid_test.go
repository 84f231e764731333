package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// Catches: a login that is not the client's; an error of the login that is lost, or that counts
// where the server does not mind; a reply that is read wrong; a server that says nothing and is
// waited for.
func TestRunID(t *testing.T) {
	t.Parallel()
	withPassword := rueidis.ClientOption{Password: "pw"}
	info := "# Server\r\nredis_version:7\r\nrun_id:abc\r\n"
	bulk := fmt.Sprintf("$%d\r\n", len(info)) + info + "\r\n"
	for name, c := range map[string]struct {
		o       rueidis.ClientOption
		replies []string
		sent    string // of the first command
		run     string
		is      error
	}{
		"no login": {replies: []string{bulk}, sent: "INFO", run: "abc"},
		"password": {o: withPassword, replies: []string{"+OK\r\n", bulk}, sent: "AUTH pw", run: "abc"},
		"user":     {o: rueidis.ClientOption{Username: "u", Password: "pw"}, replies: []string{"+OK\r\n", bulk}, sent: "AUTH u pw", run: "abc"},
		"function": {o: rueidis.ClientOption{AuthCredentialsFn: func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
			return rueidis.AuthCredentials{Username: "f", Password: "x"}, nil
		}}, replies: []string{"+OK\r\n", bulk}, sent: "AUTH f x", run: "abc"},
		"needless":         {o: withPassword, replies: []string{"-ERR no password is set\r\n", bulk}, sent: "AUTH pw", run: "abc"},
		"wrong password":   {o: withPassword, replies: []string{"-WRONGPASS\r\n", "-NOAUTH\r\n"}, sent: "AUTH pw", is: refusedError("WRONGPASS")},
		"no id":            {replies: []string{"$2\r\n#S\r\n"}, sent: "INFO"},
		"busy":             {replies: []string{"-BUSY\r\n"}, sent: "INFO", is: refusedError("BUSY")},
		"ends":             {replies: []string{"$41\r\n# Serv"}, sent: "INFO", is: io.ErrUnexpectedEOF},
		"says nothing":     {sent: "INFO", is: context.DeadlineExceeded},
		"another protocol": {replies: []string{"HTTP/1.1 400\r\n"}, sent: "INFO", is: errors.ErrUnsupported},
	} {
		here, there := net.Pipe()
		got := make(chan string, 1)
		go func() {
			defer there.Close()
			from := bufio.NewReader(there)
			first := readCommand(from)
			got <- first
			for i, reply := range c.replies {
				if i > 0 {
					readCommand(from)
				}
				_, _ = io.WriteString(there, reply)
			}
			if c.replies == nil {
				_, _ = from.ReadByte() // until here is closed
			}
		}()
		c.o.Dialer.Timeout = 50 * time.Millisecond
		run, err := runID(t.Context(), here, c.o)
		here.Close()
		var late net.Error
		switch {
		case c.is == context.DeadlineExceeded && errors.As(err, &late) && late.Timeout():
		case c.is == errors.ErrUnsupported && err != nil && strings.Contains(err.Error(), "HTTP/1.1"):
		case !errors.Is(err, c.is) || run != c.run:
			t.Errorf("%s: %q, %v; want %q, %v", name, run, err, c.run, c.is)
		}
		if sent := <-got; !strings.HasPrefix(sent, c.sent) {
			t.Errorf("%s: sent %q, want %q", name, sent, c.sent)
		}
	}
}

// readCommand returns the words of a command that was sent.
func readCommand(from *bufio.Reader) string {
	line, _ := from.ReadString('\n')
	var words []string
	for range int(line[1] - '0') {
		_, _ = from.ReadString('\n')
		word, _ := from.ReadString('\n')
		words = append(words, strings.TrimSpace(word))
	}
	return strings.Join(words, " ")
}
