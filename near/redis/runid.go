package redis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// runID asks the server at the other end of a new connection for the id of its process, before
// the client of Redis uses the connection. A server that tells none has the id "".
func runID(ctx context.Context, conn net.Conn, o rueidis.ClientOption) (string, error) {
	_ = conn.SetDeadline(time.Now().Add(o.Dialer.Timeout))
	defer conn.SetDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	auth, err := authCommand(conn, o)
	if err != nil {
		return "", err
	}
	from := bufio.NewReader(conn) // nothing follows the last reply, so no byte is lost
	var refused error
	if auth != nil {
		_, refused = call(conn, from, auth) // it counts if the server wants to know more
	}
	info, err := call(conn, from, []string{"INFO", "server"})
	if err != nil && refused != nil {
		err = refused
	}
	if err != nil {
		return "", fmt.Errorf("asking which server it is: %w", err)
	}
	return infoField(info, "run_id"), nil
}

// authCommand returns the command by which the client will log in, or nil.
func authCommand(conn net.Conn, o rueidis.ClientOption) ([]string, error) {
	user, password := o.Username, o.Password
	if o.AuthCredentialsFn != nil {
		c, err := o.AuthCredentialsFn(rueidis.AuthCredentialsContext{Address: conn.RemoteAddr()})
		if err != nil {
			return nil, err
		}
		user, password = c.Username, c.Password
	}
	switch {
	case user != "":
		return []string{"AUTH", user, password}, nil
	case password != "":
		return []string{"AUTH", password}, nil
	}
	return nil, nil
}

// call sends a command and reads its reply, which is a line or a string.
func call(to io.Writer, from *bufio.Reader, command []string) (string, error) {
	if _, err := io.WriteString(to, wire(command)); err != nil {
		return "", err
	}
	line, err := from.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch {
	case line == "":
	case line[0] == '+':
		return line[1:], nil
	case line[0] == '-':
		return "", refusedError(line[1:])
	case line[0] == '$':
		size, err := strconv.Atoi(line[1:])
		if err != nil || size < 0 || size > mostInfo {
			break
		}
		data := make([]byte, size+len("\r\n"))
		_, err = io.ReadFull(from, data)
		return string(data[:size]), err
	}
	return "", fmt.Errorf("%q is no reply to %s", line, command[0])
}

// mostInfo is the most bytes that an INFO may have.
const mostInfo = 1 << 20

// A refusedError is what a server answers instead of a reply.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// infoField returns a field of the text of an INFO, or "".
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if n, value, _ := strings.Cut(strings.TrimSpace(line), ":"); n == name {
			return value
		}
	}
	return ""
}
