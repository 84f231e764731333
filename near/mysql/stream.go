package mysql

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/go-sql-driver/mysql"
)

const (
	heartbeat = time.Second      // a server that has nothing to tell says so
	silence   = 10 * time.Second // a server may say nothing for so long
)

// A stream is a connection on which a server sends its log. It holds a lock there, by which the
// connection for questions knows that both lead to the same start of the same server, and that the
// stream is still being sent.
type stream struct {
	lock   string
	id     int64 // of the connection
	syncer *replication.BinlogSyncer
	ended  chan error // has the error that has ended the stream, once

	mu   sync.Mutex
	conn net.Conn
	over bool // no connection may begin
}

// startStream begins to read the log from a place. hear is given what is in it.
func startStream(ctx context.Context, config *mysql.Config, encrypted bool, f flavor, at place, hear *reader) (*stream, error) {
	s := &stream{lock: newLock(), ended: make(chan error, 1)}
	var encryption *tls.Config
	if encrypted {
		encryption = config.TLS
	}
	defer context.AfterFunc(ctx, s.hangUp)() // go-mysql heeds no context
	s.syncer = replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: newServerID(), Flavor: f.name(), User: config.User, Password: config.Passwd, TLSConfig: encryption,
		Host: config.Addr, Dialer: s.dial(config), Option: s.takeLock, Localhost: "pinwheel",
		HeartbeatPeriod: heartbeat, ReadTimeout: silence, DisableRetrySync: true,
		VerifyChecksum: true, FillZeroLogPos: true, DiscardGTIDSet: true, EventCacheCount: 1,
		RowsEventDecodeFunc: hear.decode, SynchronousEventHandler: hear, Logger: slog.New(slog.DiscardHandler),
	})
	events, err := f.start(s.syncer, at)
	if err != nil {
		s.hangUp()
		s.syncer.Close()
		return nil, fmt.Errorf("reading the binary log: %w", err)
	}
	go func() {
		_, err := events.GetEvent(context.Background())
		s.ended <- fmt.Errorf("near/mysql: reading the binary log: %w", err)
	}()
	return s, nil
}

// dial returns a function that connects as the data source name says, once.
func (s *stream) dial(config *mysql.Config) client.Dialer {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		dialer := net.Dialer{Timeout: config.Timeout}
		conn, err := dialer.DialContext(ctx, config.Net, config.Addr)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.over || s.conn != nil {
			conn.Close()
			return nil, net.ErrClosed
		}
		s.conn = conn
		return conn, nil
	}
}

// takeLock is called before the log comes.
func (s *stream) takeLock(conn *client.Conn) error {
	s.id = int64(conn.GetConnectionID())
	result, err := conn.Execute("SELECT GET_LOCK('" + s.lock + "', 0)")
	if err != nil {
		return err
	}
	if got, err := result.GetInt(0, 0); err != nil || got != 1 {
		return fmt.Errorf("a new lock was not given: %d, %w", got, err)
	}
	return nil
}

// hangUp ends the connection, and lets no other begin: go-mysql would end the first by a second.
func (s *stream) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.conn != nil {
		s.conn.Close()
	}
}

// close returns when nothing is heard any more. Only then may go-mysql close the connection, which it
// does without a lock.
func (s *stream) close() {
	s.hangUp()
	<-s.ended
	s.syncer.Close()
}
