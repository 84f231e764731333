package lru

// A fading decides how many marks an entry of main loses when eviction passes it: one, or all.
// One is better for most loads: what was used three times is worth three passes. But where
// popularity drifts, what was hot stays for as long as its old marks last. So a sample of the
// slots always loses one mark, and tells what that brings: of the entries that stayed by an old
// mark alone, how many were used until the next pass. The same room, for as long, could have
// kept keys that main has evicted: how many of these came back tells what it would have brought.
type fading struct {
	all   bool    // entries lose all marks
	worse bool    // in the last revolution old marks brought less than the room would
	kept  []uint8 // of each slot in the sample: the marks that the last pass left, and stayed
	met   int     // entries that eviction met in main since the last decision
	idle  int     // entries of the sample that stayed by an old mark alone
	used  int     // and those of them that were used until the next pass
	again int     // keys that came back soon after main had evicted them
}

const (
	fadingEvery = 8   // one slot in this many is in the sample
	stayed      = 128 // in kept: the entry was not used since the pass before

	minIdle     = 8  // fewer entries decide nothing
	fadePercent = 50 // entries lose all marks if old ones bring less than this part of what the room would
)

func (f *fading) resize(n int) {
	kept := make([]uint8, (n+fadingEvery-1)/fadingEvery)
	copy(kept, f.kept)
	f.kept = kept
}

// forget is for an entry that comes to main, or to another slot.
func (f *fading) forget(i uint32) {
	if i%fadingEvery == 0 {
		f.kept[i/fadingEvery] = 0
	}
}

// count notes that eviction has met entry i of the sample, with mark marks.
func (f *fading) count(i uint32, mark uint8) (used bool) {
	kept := f.kept[i/fadingEvery]
	used = mark > kept&maxMark
	if kept&stayed != 0 {
		f.idle++
		if used {
			f.used++
		}
	}
	return used
}

// fade takes marks from entry i of main, which has some.
func (a *Adaptive) fade(i uint32) {
	f := &a.fading
	mark := a.marks.get(i)
	switch {
	case i%fadingEvery == 0:
		kept := mark - 1
		if !f.count(i, mark) {
			kept |= stayed
		}
		f.kept[i/fadingEvery] = kept
		a.marks.take(i)
	case f.all:
		a.marks.clear(i)
	default:
		a.marks.take(i)
	}
	a.met()
}

// evictsMain notes that entry i of main is evicted.
func (a *Adaptive) evictsMain(i uint32) {
	if i%fadingEvery == 0 {
		a.fading.count(i, a.marks.get(i))
	}
	a.met()
}

// met counts an entry that eviction has met in main. After one revolution it decides anew. The
// counts are halved then, so that earlier revolutions count less and less.
func (a *Adaptive) met() {
	f := &a.fading
	if f.met++; f.met < a.len[main] {
		return
	}
	// Each idle entry had a slot for a revolution, which brought used/idle hits. With recent slots
	// more, main would have kept its recent victims, and had again/2 hits in a revolution, as again
	// sums up to two of them: again/2/recent for each slot.
	recent := share(a.slots, recentPercent)
	worse := f.idle >= minIdle && int64(f.used)*int64(recent)*200 < int64(f.again)*int64(f.idle)*fadePercent
	f.all, f.worse = worse && f.worse, worse // twice in a row: a loop that has just ended says so too
	f.met = 0
	f.idle /= 2
	f.used /= 2
	f.again /= 2
}
