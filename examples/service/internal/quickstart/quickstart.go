// Package quickstart writes what a newcomer can try.
package quickstart

import (
	"fmt"
	"io"
	"strings"
)

const lines = `  read a user       curl BASE/users/1
  write one         curl -X PUT BASE/users/1 -d '{"name":"Ada","email":"ada@example.com","city":"London"}'
  delete one        curl -X DELETE BASE/users/2
  keep a session    curl -X POST BASE/sessions/me/beat
  list sessions     curl BASE/sessions
  log out           curl -X DELETE BASE/sessions/me
  statistics        BASE/cache/   (also stats.json and metrics)
`

// Write writes the lines to try, for a service at the address base.
func Write(w io.Writer, base string) {
	// An error means that the reader has gone, and the lines with it.
	_, _ = fmt.Fprint(w, strings.ReplaceAll(lines, "BASE", base))
}
