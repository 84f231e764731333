package load

import (
	"fmt"
	"net/http"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

// reminders is the most reminders at once.
const reminders = 100

// remind sets, moves or removes one of the reminders. Nearly all are late enough to
// be moved before they are due, so that the log has a line only every few seconds.
func (u *user) remind() error {
	path := fmt.Sprintf("/reminders/load-%d", u.rand.IntN(reminders)+1)
	switch u.rand.IntN(10) {
	case 0:
		return u.do(http.MethodDelete, path, nil)
	case 1, 2, 3:
		return u.send(http.MethodPost, path, types.SetReminderReq{In: u.late()})
	default:
		in := u.late()
		if u.rand.IntN(50) == 0 {
			in = "2s"
		}
		return u.send(http.MethodPost, path, types.SetReminderReq{In: in, Text: "set by the load, to come in " + in})
	}
}

func (u *user) late() string { return fmt.Sprintf("%ds", 30+u.rand.IntN(60)) }
