package neartest

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A list has who is enrolled, until then, and its age grows. The source tells nothing of it, and no removal of keys
// removes it.
func (s *trial) hasLists() {
	f := s.fleet
	var w *Recorder
	if s.Source != nil {
		w = Record(s.t, s.Source, s.MaxLag)
	}
	list, other := s.Prefix+"list", s.Prefix+"other"
	members := func(list string) (all []string, age time.Duration) {
		s.t.Helper()
		all, age, err := f.Members(s.ctx, list)
		s.must(err)
		slices.Sort(all)
		return all, age
	}
	if all, age := members(list); len(all) > 0 || age != 0 {
		s.t.Errorf("at first %q are on the list for %v", all, age)
	}
	began := time.Now()
	for _, who := range []string{"a b", "stays", "stays", "\xff"} {
		s.must(f.Enroll(s.ctx, list, who, time.Hour))
	}
	s.must(f.Enroll(s.ctx, list, "soon", 50*time.Millisecond))
	s.must(f.Enroll(s.ctx, other, "elsewhere", time.Hour))
	enrolled := time.Now()
	await(s.t, "the end of a member", func() bool {
		all, age := members(list)
		return slices.Equal(all, []string{"a b", "stays", "\xff"}) && age >= time.Since(enrolled)/2 && age > 0
	})
	// It may lose none, and its clock may have moved.
	if _, age := members(list); age < math.MaxInt64 && age > time.Since(began)+time.Second {
		s.t.Errorf("after %v the list is %v old", time.Since(began), age)
	}
	s.must(f.Withdraw(s.ctx, list, "a b"))
	s.must(f.Withdraw(s.ctx, list, "nobody"))
	_, err := f.DelPrefix(s.ctx, "")
	s.must(err)
	if all, _ := members(list); !slices.Equal(all, []string{"stays", "\xff"}) {
		s.t.Errorf("after Withdraw and a removal of all keys %q are on the list", all)
	}
	if w == nil {
		return
	}
	w.AwaitCurrent(s.t, time.Now())
	for _, key := range w.Told().Keys {
		if key == list || key == other {
			s.t.Errorf("the source tells of the list %q", key)
		}
	}
}

// DelPrefix removes all keys that begin with a prefix, and no other, with the leases on them, and counts them.
func (s *trial) removesPrefixes() {
	f := s.fleet
	const many = 300
	for i := range many {
		s.set(`[a]*?\`+strconv.Itoa(i), found("v"))
	}
	s.set(`[a]*?\absent`, near.Item{State: near.Absent})
	want, token := many+1, ""
	if _, ok := s.Store.(near.Leaser); ok {
		token = s.lease(`[a]*?\leased`, time.Hour)
		want++
	}
	stay := []string{"a", "[a]", `[a]*\`, "[b]", `[a]xx\`}
	for _, key := range stay {
		s.set(key, found("stays"))
	}
	if removed, err := f.DelPrefix(s.ctx, s.Prefix+`[a]*?\`); removed != want || err != nil {
		s.t.Errorf("DelPrefix removed %d keys, %v, want %d", removed, err, want)
	}
	for i := range many {
		if got := s.get(`[a]*?\` + strconv.Itoa(i)); got.State != near.Missing {
			s.t.Fatalf("key %d is still %+v", i, got)
		}
	}
	if token != "" && s.fill(`[a]*?\leased`, token, found("late")) {
		s.t.Error("DelPrefix has left a lease")
	}
	for _, key := range stay {
		if got := s.get(key); got.State != near.Found {
			s.t.Errorf("%q is %+v, though it does not begin with the prefix", key, got)
		}
	}
	if removed, err := f.DelPrefix(s.ctx, ""); removed < len(stay) || err != nil || s.get("a").State != near.Missing {
		s.t.Errorf("of all keys DelPrefix removed %d, %v, want %d", removed, err, len(stay))
	}
}
