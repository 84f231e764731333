// This file has the lists of instances, and the removal of all keys with a prefix.

package memory

import (
	"context"
	"math"
	"strings"
	"time"
)

// A list has when the time of each member is over.
type list map[string]time.Time

// list returns a list without those whose time is over.
func (s *Store) list(name string) list {
	l := s.lists[name]
	for member, end := range l {
		if !time.Now().Before(end) {
			delete(l, member)
		}
	}
	if len(l) == 0 {
		delete(s.lists, name)
	}
	return l
}

// Enroll has a member on a list until life from now on.
func (s *Store) Enroll(ctx context.Context, name, member string, life time.Duration) error {
	return s.do(ctx, func() {
		l := s.list(name)
		if len(l) == 0 {
			l = list{}
			s.lists[name] = l
		}
		l[member] = time.Now().Add(life)
	})
}

// Withdraw takes a member off a list.
func (s *Store) Withdraw(ctx context.Context, name, member string) error {
	return s.do(ctx, func() { delete(s.list(name), member) })
}

// Members returns who is on a list, which is never lost.
func (s *Store) Members(ctx context.Context, name string) (members []string, age time.Duration, err error) {
	err = s.do(ctx, func() {
		for member := range s.list(name) {
			members, age = append(members, member), math.MaxInt64
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
