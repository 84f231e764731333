// Package quickstart has commands for a newcomer to try.
package quickstart

import "strings"

const lines = `  read a user       curl BASE/users/1
  write one         curl -X PUT BASE/users/1 -d '{"name":"Ada","email":"ada@example.com","city":"London"}'
  delete one        curl -X DELETE BASE/users/2
  keep a session    curl -X POST BASE/sessions/me/beat
  list sessions     curl BASE/sessions
  log out           curl -X DELETE BASE/sessions/me
  set a reminder    curl BASE/reminders/tea -d '{"in":"10s","text":"the tea is ready"}'
  move it           curl BASE/reminders/tea -d '{"in":"1m"}'
  remove it         curl -X DELETE BASE/reminders/tea
  statistics        BASE/cache/   (also stats.json and metrics)
  purge a key       curl BASE/cache/purge -d 'cache=users&key=1'
`

// Lines returns the lines to try, for a service at the address base.
func Lines(base string) string { return strings.ReplaceAll(lines, "BASE", base) }
