package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/proof/internal/truth"
)

// ungated is a source that tells what is in the log as soon as it is there, and vouches for what the
// log had when it was asked.
type ungated struct {
	t    testing.TB
	addr string
}

func (s *ungated) Watch(ctx context.Context, w near.Watcher) {
	for ctx.Err() == nil {
		if err := s.read(ctx, w); ctx.Err() == nil {
			s.t.Log(err) // and again
		}
	}
}

func (s *ungated) read(ctx context.Context, w near.Watcher) error {
	conn, err := client.Connect(s.addr, "root", "", "")
	if err != nil {
		return err
	}
	defer conn.Close()
	begin, err := end(conn)
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(s.addr)
	number, _ := strconv.Atoi(port)
	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: 1<<31 + rand.Uint32N(1<<30), Flavor: gomysql.MariaDBFlavor, Host: host, Port: uint16(number), User: "root",
		DisableRetrySync: true, Logger: slog.New(slog.DiscardHandler),
	})
	defer syncer.Close()
	events, err := syncer.StartSync(begin)
	if err != nil {
		return err
	}
	w.ChangedAll()
	for ctx.Err() == nil {
		asked := time.Now()
		until, err := end(conn)
		if err != nil {
			return err
		}
		for at := begin; at.Compare(until) < 0; begin = at {
			waiting, cancel := context.WithTimeout(ctx, time.Second)
			e, err := events.GetEvent(waiting)
			cancel()
			if err != nil {
				return err
			}
			if e.Header.LogPos > 0 {
				at.Pos = e.Header.LogPos
			}
			if rotate, ok := e.Event.(*replication.RotateEvent); ok {
				at = gomysql.Position{Name: string(rotate.NextLogName), Pos: uint32(rotate.Position)}
			}
			if rows, ok := e.Event.(*replication.RowsEvent); ok {
				for _, row := range rows.Rows {
					w.Changed(fmt.Sprint(truth.Prefix, row[0]))
				}
			}
		}
		w.Current(asked)
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

// end returns where the log ends.
func end(conn *client.Conn) (gomysql.Position, error) {
	status, err := conn.Execute("SHOW MASTER STATUS")
	if err != nil {
		return gomysql.Position{}, err
	}
	file, err := status.GetString(0, 0)
	offset, wrong := status.GetInt(0, 1)
	return gomysql.Position{Name: file, Pos: uint32(offset)}, errors.Join(err, wrong)
}
