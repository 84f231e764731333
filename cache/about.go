// This file has what a shard tells of an entry beside its value.

package cache

// An about is how old a value is, and how long it lives, as an entry or a load had it at one
// moment.
type about struct {
	deadline int64 // or never; negated in Grace; 0 if the value was not stored
	due      int64 // when it is to be loaded anew: see underWay; never without Refresh and Grace
	born     moment
}

// about returns what there is to tell of entry i. Whether that has expired must have been looked
// at before.
func (s *shard[K, V]) about(i uint32) about {
	a := about{deadline: s.entries[i].deadline.load(), due: never}
	if s.due != nil {
		a.due = s.due[i].load()
	}
	if s.born != nil {
		a.born = s.born[i]
	}
	return a
}
