package svc

import (
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/config"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// A reminder may be a tick late. A revolution of the wheel has 512 ticks, which cover
// the usual delay of some seconds.
const (
	reminderTick  = 100 * time.Millisecond
	reminderSlots = 512
)

// newReminders returns a timing wheel that logs each reminder when it is due.
func newReminders(c config.RemindersConf) (*timingwheel.TimingWheel[string, string], error) {
	return timingwheel.New(reminderTick, reminderSlots, remind,
		timingwheel.WithName("reminders"),
		timingwheel.WithLimit(c.Limit))
}

func remind(id, text string) { logx.Infof("reminder %q: %s", id, text) }
