package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// silence is how long a server that was asked how far it is may say nothing.
const silence = 10 * time.Second

// A stream is a connection of logical replication.
type stream struct {
	conn     net.Conn
	frontend *pgproto3.Frontend
}

// settings are those of textSettings, so that a column has the text that it has in Changes.
var settings = map[string]string{
	"replication": "database", "search_path": "pg_catalog, pg_temp", "datestyle": "ISO, YMD", "intervalstyle": "postgres",
	"timezone": "UTC", "bytea_output": "hex", "extra_float_digits": "1", "lc_monetary": "C", "client_encoding": "UTF8",
}

// replication connects for replication, to the server of a connection.
func (l *Log) replication(ctx context.Context, other *pgx.Conn) (*pgconn.PgConn, error) {
	config := l.config.Config.Copy()
	maps.Copy(config.RuntimeParams, settings)
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("near/postgres: connecting for replication: %w", err)
	}
	if err := sameServer(ctx, conn, other); err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

// stream begins to replicate, from a temporary slot. The slot is there when it returns, which
// waits for transactions that are open.
func (l *Log) stream(ctx context.Context, other *pgx.Conn) (*stream, error) {
	conn, err := l.replication(ctx, other)
	if err != nil {
		return nil, err
	}
	if err := l.start(ctx, conn); err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	raw, err := conn.Hijack()
	if err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("near/postgres: %w", err)
	}
	return &stream{conn: raw.Conn, frontend: raw.Frontend}, nil
}

func (l *Log) start(ctx context.Context, conn *pgconn.PgConn) error {
	slot := "pinwheel_" + strings.ToLower(rand.Text())
	if _, err := conn.Exec(ctx, "CREATE_REPLICATION_SLOT "+slot+" TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT").ReadAll(); err != nil {
		return fmt.Errorf("near/postgres: making a replication slot: %w", err)
	}
	publication := strings.ReplaceAll(quoteName(l.options.Publication), `'`, `''`)
	return startReplication(ctx, conn, fmt.Sprintf("START_REPLICATION SLOT %s LOGICAL 0/0 (proto_version '1', publication_names '%s')", slot, publication))
}

// sameServer returns an error if two connections are not to the same start of a server: what one
// says would mean nothing to the other.
func sameServer(ctx context.Context, conn *pgconn.PgConn, other *pgx.Conn) error {
	const who = "SELECT (SELECT system_identifier FROM pg_control_system()) || ' ' || extract(epoch FROM pg_postmaster_start_time())::text"
	results, err := conn.Exec(ctx, who).ReadAll()
	if err != nil || len(results) != 1 || len(results[0].Rows) != 1 {
		return fmt.Errorf("near/postgres: asking who the server is: %w", err)
	}
	var name string
	if err := other.QueryRow(ctx, who).Scan(&name); err != nil {
		return fmt.Errorf("near/postgres: asking who the server is: %w", err)
	}
	if string(results[0].Rows[0][0]) != name {
		return fmt.Errorf("near/postgres: two connections led to two servers: want an address of the primary alone")
	}
	return nil
}

// startReplication returns when messages of the log may come.
func startReplication(ctx context.Context, conn *pgconn.PgConn, command string) error {
	conn.Frontend().Send(&pgproto3.Query{String: command})
	if err := conn.Frontend().Flush(); err != nil {
		return fmt.Errorf("near/postgres: starting replication: %w", err)
	}
	for {
		m, err := conn.ReceiveMessage(ctx)
		if err != nil {
			return fmt.Errorf("near/postgres: starting replication: %w", err)
		}
		switch m := m.(type) {
		case *pgproto3.CopyBothResponse:
			return nil
		case *pgproto3.ErrorResponse:
			return fmt.Errorf("near/postgres: starting replication: %w", pgconn.ErrorResponseToPgError(m))
		}
	}
}

// read puts what the stream brings to the gate, until the connection breaks.
func (s *stream) read(rows *rowReader, g *gate) error {
	var open transaction
	for {
		if err := s.conn.SetReadDeadline(time.Now().Add(silence)); err != nil {
			return fmt.Errorf("near/postgres: reading the log: %w", err)
		}
		received, err := s.frontend.Receive()
		if err != nil {
			return fmt.Errorf("near/postgres: reading the log: %w", err)
		}
		switch m := received.(type) {
		case *pgproto3.ErrorResponse:
			return fmt.Errorf("near/postgres: reading the log: %w", pgconn.ErrorResponseToPgError(m))
		case *pgproto3.CopyDone:
			return fmt.Errorf("near/postgres: the server has ended the replication")
		case *pgproto3.CopyData:
			if err := rows.hear(m.Data, &open, g); err != nil {
				return err
			}
		}
	}
}

// hear handles one message of the replication: of the log, or how far the server is.
func (r *rowReader) hear(data []byte, open *transaction, g *gate) error {
	const logHeader, aliveLength = 25, 18
	switch {
	case len(data) >= aliveLength && data[0] == 'k':
		g.reach(binary.BigEndian.Uint64(data[1:]))
		return nil
	case len(data) > logHeader && data[0] == 'w':
		m, err := decode(data[logHeader:])
		if err != nil {
			return err
		}
		return r.follow(m, open, g)
	}
	return fmt.Errorf("near/postgres: a message of replication is wrong: % .32x", data)
}

// follow collects the keys of a transaction, until it commits.
func (r *rowReader) follow(m message, open *transaction, g *gate) error {
	switch m := m.(type) {
	case begin:
		*open = transaction{xid: m.xid}
	case relation:
		return r.describe(m)
	case change:
		r.add(open, m)
	case truncate:
		for _, id := range m.relations {
			_, ours := r.tables[id]
			open.all = open.all || ours
		}
	case commit:
		if open.all || len(open.keys) > 0 {
			g.put(*open)
		}
		g.reach(m.end)
		*open = transaction{}
	}
	if open.all || len(open.keys) > g.limit {
		open.all, open.keys = true, nil
	}
	return nil
}

// ask tells the server up to where everything was received, and asks how far it is.
func (s *stream) ask(received uint64) error {
	status := make([]byte, 34)
	status[0], status[33] = 'r', 1
	for i := range 3 { // written, flushed, applied
		binary.BigEndian.PutUint64(status[1+8*i:], received)
	}
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	binary.BigEndian.PutUint64(status[25:], uint64(time.Since(epoch).Microseconds()))
	s.frontend.Send(&pgproto3.CopyData{Data: status})
	if err := s.conn.SetWriteDeadline(time.Now().Add(silence)); err != nil {
		return fmt.Errorf("near/postgres: asking how far the log is: %w", err)
	}
	if err := s.frontend.Flush(); err != nil {
		return fmt.Errorf("near/postgres: asking how far the log is: %w", err)
	}
	return nil
}

func (s *stream) close() { s.conn.Close() }
