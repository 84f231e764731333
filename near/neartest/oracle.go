package neartest

import (
	"fmt"
	"sort"
	"sync"
	"time"
)

// An Oracle knows the versions of each key as who writes them says, and judges what was read. A key has one writer at a
// time. Its versions are 1, 2, 3 and so on, and 0 before the first. The zero Oracle is ready, and safe for
// concurrent use.
type Oracle struct {
	mu   sync.Mutex
	keys map[int]*history
}

// A history is what happened to a key.
type history struct {
	newest  int     // that is written or being written
	acked   []event // in order
	revoked []event
}

// An event is that a version has replaced all before.
type event struct {
	version int
	at      time.Time
}

// of returns the history of a key, with mu held.
func (o *Oracle) of(key int) *history {
	h := o.keys[key]
	if h == nil {
		if o.keys == nil {
			o.keys = map[int]*history{}
		}
		h = &history{}
		o.keys[key] = h
	}
	return h
}

// Write returns a new version of a key, which from now on may be read.
func (o *Oracle) Write(key int) (version int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of(key).newest++
	return o.of(key).newest
}

// Newest returns the newest version of a key, as a database has it.
func (o *Oracle) Newest(key int) (version int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(key).newest
}

// Acknowledge records that a write has returned without an error: from now on older versions are stale.
func (o *Oracle) Acknowledge(key, version int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.of(key)
	h.acked = append(h.acked, event{version, time.Now()})
}

// Revoked records that a Revoke or DelPrefix has returned without an error: from now on nobody may have versions older
// than the newest.
func (o *Oracle) Revoked(key int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.of(key)
	h.revoked = append(h.revoked, event{h.newest, time.Now()})
}

// Judge judges that a read which began at a moment has returned a version.
func (o *Oracle) Judge(key, version int, began time.Time) Verdict {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.of(key)
	return Verdict{key, version, h.newest, began, since(h.acked, version, began), since(h.revoked, version, began)}
}

// since returns for how long a version had been replaced at a moment, 0 if it had not.
func since(events []event, version int, at time.Time) time.Duration {
	next := sort.Search(len(events), func(i int) bool { return events[i].version > version })
	if next < len(events) && events[next].at.Before(at) {
		return at.Sub(events[next].at)
	}
	return 0
}

// A Verdict says what a read returned, and for how long it should have been known when the read began that it is old.
type Verdict struct {
	Key, Version, Newest int
	Began                time.Time
	Stale                time.Duration // since a newer version was acknowledged; 0 if none was
	Revoked              time.Duration // since it was removed from the whole fleet; 0 if it was not
}

// Err returns what is wrong with an answer that may be as old as maxLag, or nil.
func (v Verdict) Err(maxLag time.Duration) error {
	read := fmt.Sprintf("a read of key %d at %s returned version %d, which", v.Key, clock(v.Began), v.Version)
	switch {
	case v.Version < 0 || v.Version > v.Newest:
		return fmt.Errorf("%s nobody has written: the newest is %d", read, v.Newest)
	case v.Revoked > 0:
		return fmt.Errorf("%s had been removed from the whole fleet %v before", read, v.Revoked)
	case v.Stale > maxLag:
		return fmt.Errorf("%s had been replaced %v before, more than %v", read, v.Stale, maxLag)
	}
	return nil
}

func clock(t time.Time) string { return t.Format("15:04:05.000000") }
