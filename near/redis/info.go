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

// errNoInfo means that a server has answered, but does not say who it is.
var errNoInfo = errors.New("INFO replication was refused")

// identify sends INFO replication on a new connection and returns the answer. It reads the
// replies to the end, and as nothing else was sent, nothing that follows.
func identify(ctx context.Context, o *rueidis.ClientOption, conn net.Conn) (info string, err error) {
	login := rueidis.AuthCredentials{Username: o.Username, Password: o.Password}
	if o.AuthCredentialsFn != nil {
		if login, err = o.AuthCredentialsFn(rueidis.AuthCredentialsContext{Address: conn.RemoteAddr()}); err != nil {
			return "", err
		}
	}
	commands := [][]string{{"INFO", "replication"}}
	if login.Username != "" {
		commands = [][]string{{"AUTH", login.Username, login.Password}, commands[0]}
	} else if login.Password != "" {
		commands = [][]string{{"AUTH", login.Password}, commands[0]}
	}
	ctx, cancel := context.WithTimeout(ctx, o.Dialer.Timeout)
	defer cancel()
	defer conn.SetDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	for _, c := range commands {
		if _, err := io.WriteString(conn, request(c)); err != nil {
			return "", err
		}
	}
	in, line := bufio.NewReader(conn), ""
	for range commands { // if AUTH is refused, so is INFO
		if line, err = in.ReadString('\n'); err != nil {
			return "", err
		}
	}
	size, ok := strings.CutPrefix(line, "$")
	if !ok {
		return "", fmt.Errorf("%w: %.200s", errNoInfo, line)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(size), 10, 20)
	if err != nil {
		return "", err
	}
	text := make([]byte, n+2)
	_, err = io.ReadFull(in, text)
	return string(text), err
}

// readRole reads an INFO replication. A server that a script keeps busy refuses it, as it should:
// it tells of changes only after the script, but acknowledges them meanwhile.
func readRole(replies []rueidis.RedisResult) (string, error) {
	info, err := replies[0].ToString()
	if err != nil {
		return "", err
	}
	return role(info)
}

// role returns what a master calls its data. No other server has that name, and the master gets
// another one when it restarts, was a replica, or gets its first replica. An odd server may have
// none.
func role(info string) (string, error) {
	if r := infoField(info, "role"); r != "" && r != "master" {
		return "", fmt.Errorf("%w: the server is a replica (%s), which tells of changes when it learns of them, later than its master; give the address of the master", errTopology, r)
	}
	return infoField(info, "master_replid"), nil
}

// infoField returns a field of an INFO, which may be a verbatim string.
func infoField(info, name string) string {
	_, after, _ := strings.Cut("\n"+strings.TrimPrefix(info, "txt:"), "\n"+name+":")
	value, _, _ := strings.Cut(after, "\r")
	return value
}
