package pgtest

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// CrashProcess kills one process of a connection (SIGKILL). The server then ends the others,
// recovers from its log, and answers when CrashProcess returns.
func (s *Server) CrashProcess() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	witness, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	defer witness.Close(ctx)
	_ = s.Exec("COPY (SELECT 1) TO PROGRAM 'kill -9 $PPID'") // which ends its connection
	for witness.Ping(ctx) == nil {
		time.Sleep(time.Millisecond)
	}
	return s.Ready()
}
