package snippets

import (
	"context"
	"net"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

func Connections(id uint64, conn net.Conn) error {
	wheel, err := timingwheel.New(100*time.Millisecond, 512, func(id uint64, c net.Conn) {
		c.Close() // 30 s without a sign of life
	}, timingwheel.WithName("connections"))

	wheel.SetTimer(id, conn, 30*time.Second) // accepted
	wheel.MoveTimer(id, 30*time.Second)      // a frame has come: false if it is being closed
	wheel.RemoveTimer(id)                    // closed by the peer
	return err
}

type connection struct {
	conn    net.Conn
	timeout *timingwheel.Timer
}

func Handles(c *connection) error {
	timers, err := timingwheel.NewTimers(100*time.Millisecond, 512)

	c.timeout = timers.AfterFunc(30*time.Second, func() { c.conn.Close() })
	c.timeout.Reset(30 * time.Second)
	c.timeout.Stop()
	return err
}

func Repeated(ctx context.Context, timers *timingwheel.Timers, refresh, clean, poll, report func(), midnight time.Time, day time.Duration, sample func(time.Time),
	schedule interface{ Next(time.Time) time.Time }) {
	t := timers.Every(time.Minute, refresh) // not drifting, not overlapping, not bursting
	timers.EveryFrom(midnight, day, clean)  // first then; the moments that have passed are skipped
	timers.Repeat(5, time.Second, poll)     // five times
	timers.Schedule(schedule, report)       // a cron expression: anything with Next(time.Time) time.Time
	t.Reset(time.Hour)                      // every hour from now on
	t.Stop()                                // also by refresh itself

	for now := range timers.Ticks(ctx, time.Second) { // until ctx ends
		sample(now)
	}
}

type Session struct{}

func SaveTimers(ctx context.Context, wheel *timingwheel.TimingWheel[uint64, Session]) ([]timingwheel.Pending[uint64, Session], error) {
	var saved []timingwheel.Pending[uint64, Session]
	for p := range wheel.All() { // key, value and when it is due
		saved = append(saved, p)
	}
	err := wheel.Shutdown(ctx) // no further callback begins; waits for those that run
	return saved, err
}

func RestoreTimers(wheel *timingwheel.TimingWheel[uint64, Session], saved []timingwheel.Pending[uint64, Session]) {
	for _, p := range saved {
		wheel.SetTimerAt(p.Key, p.Value, p.Due) // at once, if it is overdue
	}
}
