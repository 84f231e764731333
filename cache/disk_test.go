package cache

import (
	"context"
	"errors"
	"testing"
)

// A slowDisk notes how much it is asked to write or sync at once, and calls wrote.
type slowDisk struct {
	written, unsynced, most int
	wrote                   func()
}

func (d *slowDisk) Write(b []byte) (int, error) {
	d.written += len(b)
	d.unsynced += len(b)
	d.most = max(d.most, d.unsynced)
	d.wrote()
	return len(b), nil
}

func (d *slowDisk) Sync() error {
	d.unsynced = 0
	return nil
}

// TestSaveFileAndASlowDisk checks that SaveFile never waits for more of the disk than
// syncEvery, so that the end of a context ends it soon.
func TestSaveFileAndASlowDisk(t *testing.T) {
	for _, size := range []int{1000, 3 * syncEvery} {
		ctx, stop := context.WithCancel(t.Context())
		d := &slowDisk{}
		d.wrote = func() {
			if d.written >= 10*syncEvery {
				stop()
			}
		}
		u := &untilDone{ctx: ctx, file: d}
		var err error
		for err == nil {
			_, err = u.Write(make([]byte, size))
		}
		if !errors.Is(err, context.Canceled) || d.written >= 11*syncEvery || d.most >= 2*syncEvery {
			t.Errorf("writes of %d: %v after %d bytes, %d at once", size, err, d.written, d.most)
		}
	}
}
