// This file has the lists of instances, and the removal of all keys with a prefix.

package memory

import (
	"context"
	"strings"
	"time"
)

// A list has members, each until its time is over.
type list struct {
	began   time.Time
	members map[string]time.Time
}

// list returns a list without those whose time is over, or nil if nobody is on it.
func (s *Store) list(name string) *list {
	l := s.lists[name]
	if l == nil {
		return nil
	}
	for member, end := range l.members {
		if !time.Now().Before(end) {
			delete(l.members, member)
		}
	}
	if len(l.members) == 0 {
		delete(s.lists, name)
		return nil
	}
	return l
}

// Enroll has a member on a list until life from now on.
func (s *Store) Enroll(ctx context.Context, name, member string, life time.Duration) error {
	return s.do(ctx, func() {
		l := s.list(name)
		if l == nil {
			l = &list{time.Now(), map[string]time.Time{}}
			s.lists[name] = l
		}
		l.members[member] = time.Now().Add(life)
	})
}

// Withdraw takes a member off a list.
func (s *Store) Withdraw(ctx context.Context, name, member string) error {
	return s.do(ctx, func() {
		if l := s.list(name); l != nil {
			delete(l.members, member)
		}
	})
}

// Members returns who is on a list, and for how long somebody always was.
func (s *Store) Members(ctx context.Context, name string) (members []string, age time.Duration, err error) {
	err = s.do(ctx, func() {
		l := s.list(name)
		if l == nil {
			return
		}
		age = time.Since(l.began)
		for member := range l.members {
			members = append(members, member)
		}
	})
	return members, age, err
}

// DelPrefix removes all keys that begin with prefix, with the leases on them, and returns how many values and leases it
// has removed.
func (s *Store) DelPrefix(ctx context.Context, prefix string) (removed int, err error) {
	err = s.do(ctx, func() {
		for key := range s.records {
			if strings.HasPrefix(key, prefix) {
				s.drop(key)
				s.tell(key)
				removed++
			}
		}
	})
	return removed, err
}
