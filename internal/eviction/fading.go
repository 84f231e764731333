package eviction

// A fading decides how many marks an entry of main loses when eviction passes it: one, or all.
// One is better for most loads: what was used three times is worth three passes. But where
// popularity drifts, what was hot stays for as long as its old marks last. So entries in a sample
// of the slots always lose one mark, and tell what that brings: of those that stayed by an old
// mark alone, how many were used until the next pass. Their room could have kept keys that main
// has evicted: how many of these came back tells what it would have brought.
type fading struct {
	all   bool    // entries outside the sample lose all marks
	worse bool    // at the last decision old marks brought too little
	kept  []uint8 // by slot of the sample: the marks that the last pass left in main, and stayed
	met   int     // entries that eviction met in main since the last decision
	idle  int     // entries of the sample that stayed by an old mark alone
	used  int     // and those of them that were used until the next pass
	again int     // keys that came back soon after main had evicted them
}

const (
	fadingEvery = 8   // one slot in this many is in the sample
	stayed      = 128 // in kept: the entry was not used between the last two passes
	minIdle     = 8   // fewer entries decide nothing
)

func (f *fading) resize(n int) {
	kept := make([]uint8, (n+fadingEvery-1)/fadingEvery)
	copy(kept, f.kept)
	f.kept = kept
}

// forget is for entry i when it comes to main.
func (f *fading) forget(i uint32) {
	if i%fadingEvery == 0 {
		f.kept[i/fadingEvery] = 0
	}
}

// count notes that eviction has met entry i of the sample, which has mark marks. It reports
// whether the entry was used since the last pass.
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

// fade takes one mark or all from entry i of main, which has some.
func (a *Adaptive) fade(i uint32) {
	f := &a.fading
	switch mark := a.marks.get(i); {
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

// met counts an entry that eviction has met in main, and decides anew once in a revolution of
// main. It halves the counts then: earlier revolutions count less and less.
func (a *Adaptive) met() {
	f := &a.fading
	if f.met++; f.met < a.len[main] {
		return
	}
	// Each idle entry had its slot for a revolution, in which used/idle hits came. For recent
	// slots more main would have had the keys that came back in a revolution, again/2, as again
	// sums up to two of them. Old marks bring too little if the slots brought less than a quarter
	// of that. Entries lose all marks if they do twice in a row: a loop that has just ended says
	// so too.
	recent := share(a.slots, recentPercent)
	worse := f.idle >= minIdle && int64(f.used)*int64(recent)*8 < int64(f.again)*int64(f.idle)
	f.all, f.worse = worse && f.worse, worse
	f.met = 0
	f.idle /= 2
	f.used /= 2
	f.again /= 2
}
