package neartest

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// A Marking is an Instance that makes marks, and reads nothing older than the mark of another one.
type Marking interface {
	Instance
	Mark(ctx context.Context) (near.Mark, error)
	TakeSince(ctx context.Context, mark near.Mark, row int, load func(ctx context.Context) (version int, err error)) (version int, err error)
}

// TakeSince is that of the Local.
func (l local) TakeSince(ctx context.Context, mark near.Mark, row int, load func(ctx context.Context) (int, error)) (int, error) {
	return l.Local.TakeSince(ctx, mark, row, func(ctx context.Context, _ *cache.Load[int]) (int, error) { return load(ctx) })
}

// markPatience is how long a read since a mark may take.
const markPatience = time.Second

// checkMark has one instance mark a write that was acknowledged, and others read since the mark: they
// must get that version or a later one. A mark that could not be made is read too.
func (f *Fleet) checkMark(ctx context.Context, row, number int) {
	if !f.Marks {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, markPatience)
	defer cancel()
	mark, _ := f.instances[rand.N(len(f.instances))].(Marking).Mark(ctx)
	for range 3 {
		reader := f.instances[rand.N(len(f.instances))].(Marking)
		got, err := reader.TakeSince(ctx, mark, row, func(ctx context.Context) (int, error) { return f.truth.Read(ctx, row) })
		if err != nil {
			continue
		}
		f.mu.Lock()
		f.since++
		if got < number {
			f.older++
		}
		f.mu.Unlock()
		time.Sleep(rand.N(f.maxLag / 4)) // so that some are read from memory
	}
}

// Older returns how many reads since a mark have got an older version than the one that was marked.
func (f *Fleet) Older() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.older
}

// MarkedEarly returns an instance that makes a wrong use of marks: it hands out the one of the call
// before, which was made before the write. The oracle must find it.
func MarkedEarly(i Marking) Marking { return &early{Marking: i} }

type early struct {
	Marking
	before atomic.Pointer[near.Mark]
}

func (e *early) Mark(ctx context.Context) (near.Mark, error) {
	mark, err := e.Marking.Mark(ctx)
	if before := e.before.Swap(&mark); before != nil {
		return *before, nil
	}
	return mark, err
}

// Mark is that of the source, which need not make marks.
func (a *Audit) Mark(ctx context.Context) (near.Mark, error) {
	if m, ok := a.source.(near.Marker); ok {
		return m.Mark(ctx)
	}
	return near.UnknownMark, nil
}

// Moment is that of the source.
func (a *Audit) Moment(mark near.Mark) (time.Time, bool) {
	if m, ok := a.source.(near.Marker); ok {
		return m.Moment(mark)
	}
	return time.Time{}, false
}

// Revoked tells the other watcher.
func (a auditor) Revoked(keys ...string) { near.Revoked(a.Watcher, keys...) }
