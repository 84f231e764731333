package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"
)

// BenchmarkUpdate changes one row in a transaction, on a server that flushes each commit, by turns in a table whose changes
// are told and in one whose are not. It reports by how much the former takes longer.
func BenchmarkUpdate(b *testing.B) {
	s, err := postgrestest.Start("fsync=on")
	server := postgrestest.Started(b, s, err)
	pool := connect(b, server.URL)
	for _, table := range []string{"plain", "told"} {
		run(b, pool, fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY, email text, n int)", table),
			fmt.Sprintf("INSERT INTO %s SELECT i, 'mail ' || i, 0 FROM generate_series(1, 10000) i", table))
	}
	run(b, pool, postgres.SQL(postgres.Table{Name: "told", Keys: []string{"user:{id}", "user:email:{email}"}}))
	took := map[string]time.Duration{}
	for b.Loop() {
		for _, table := range []string{"plain", "told"} {
			began := time.Now()
			_, err := pool.Exec(context.Background(), "UPDATE "+table+" SET n = n + 1 WHERE id = $1", 1+rand.IntN(10000))
			check(b, err)
			took[table] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took["plain"].Microseconds())/float64(b.N), "µs/plain")
	b.ReportMetric(100*(took["told"].Seconds()/took["plain"].Seconds()-1), "%more")
}

// BenchmarkPoll polls while nothing changes, beside a transaction that stays open. It reports the processor time of the
// server.
func BenchmarkPoll(b *testing.B) {
	pool := connect(b, database(b))
	run(b, pool, "CREATE TABLE rows (k text)", postgres.SQL(rows...), "INSERT INTO rows SELECT i FROM generate_series(1, 100000) i")
	open, err := pool.Begin(b.Context())
	check(b, err)
	_, err = open.Exec(b.Context(), "INSERT INTO rows VALUES ('open')")
	check(b, err)
	run(b, pool, "INSERT INTO rows SELECT i FROM generate_series(1, 100000) i", "VACUUM ANALYZE pinwheel.changes")
	conn, err := pool.Acquire(b.Context())
	check(b, err)
	defer conn.Release()
	seen, at := "", cpu(b, conn.Conn())
	for b.Loop() {
		check(b, conn.QueryRow(b.Context(), "SELECT snapshot FROM pinwheel.poll(nullif($1, '')::text::pg_snapshot, 20000)", pgx.QueryExecModeExec, seen).Scan(&seen))
	}
	b.ReportMetric(float64((cpu(b, conn.Conn())-at).Microseconds())/float64(b.N), "server-µs/op")
	check(b, open.Rollback(b.Context()))
}

// cpu returns the processor time of the server process of a connection.
func cpu(b *testing.B, conn *pgx.Conn) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", conn.PgConn().PID()))
	if err != nil {
		b.Skip(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
	var user, system int
	_, err = fmt.Sscan(fields[12]+" "+fields[13], &user, &system)
	check(b, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// BenchmarkHeard measures from when a commit is acknowledged until it is told, by polls 250 ms apart, and with notifications.
func BenchmarkHeard(b *testing.B) {
	for _, listens := range []bool{false, true} {
		b.Run(fmt.Sprint("listens=", listens), func(b *testing.B) {
			pool := connect(b, database(b))
			run(b, pool, "CREATE TABLE rows (k text)", postgres.SQL(rows...), postgres.NotifySQL())
			o := postgres.ChangesOptions{Tables: rows}
			if listens {
				o.Listen = pool.Config().ConnConfig
			}
			c, err := postgres.NewChanges(pool, o)
			check(b, err)
			w := neartest.Record(b, c, time.Second)
			var took []time.Duration
			for b.Loop() {
				time.Sleep(rand.N(250 * time.Millisecond)) // at any moment between two polls
				run(b, pool, fmt.Sprintf("INSERT INTO rows VALUES ('%d')", len(took)))
				committed := time.Now()
				w.Await(b, "the change", func(told neartest.Told) bool { return len(told.Keys) > len(took) })
				took = append(took, time.Since(committed))
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "ms-median")
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "ms-p99")
		})
	}
}
