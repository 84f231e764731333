package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/near/mysql/mysqltest"
	"github.com/pinwheel-cache/pinwheel/near/postgres/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Catches: a verdict that is good whatever happens, and a program that leaves its table behind.
func TestVerdicts(t *testing.T) {
	maria, err := mysqltest.Start()
	mysqltest.Started(t, maria, err)
	pg, err := pgtest.Start("wal_level=logical")
	pgtest.Started(t, pg, err)
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"mysql", "", []string{"-mysql", maria.DSN()}},
		{"mysql that drops", "FAILED", []string{"-mysql", maria.DSN(), "-drop", "1", "-for", "2s"}},
		{"postgres", "", []string{"-postgres", pg.URL()}},
		{"log of postgres", "", []string{"-postgres", pg.URL(), "-log"}},
		{"nothing", "want -mysql DSN", nil},
		{"no server", "FAILED", []string{"-mysql", "root@tcp(127.0.0.1:1)/test"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := run(append([]string{"-for", "1s"}, c.args...), &out)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q\n%s", err, c.want, out.String())
			}
		})
	}
	if err := maria.Exec("CREATE TABLE " + table + " (id int)"); err != nil {
		t.Error(err)
	}
	if err := pg.Exec("CREATE TABLE " + table + " (id int)"); err != nil {
		t.Error(err)
	}
}
