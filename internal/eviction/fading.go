package eviction

// A fading decides how many marks an entry of main loses when eviction passes it: one, or all.
// One is better for most programs: an entry that was used three times is worth three passes. But
// where popularity drifts, what was hot stays for as long as its old marks last. So a sample of the
// slots finds out. Its entries always lose one mark only. Some of them then stay by an old mark
// alone, not used since the last pass, and fading counts how many of these are used until the
// next pass. That is what old marks bring. In that room main could have kept keys that it has
// evicted, and fading counts how many of these come back. That is what the room would bring.
type fading struct {
	all   bool    // entries outside the sample lose all marks
	worse bool    // old marks brought too little at the last decision
	kept  []uint8 // for each slot of the sample: the marks that the last pass in main left, and stayed
	met   int     // how many entries eviction met in main since the last decision
	idle  int     // how many entries of the sample stayed by an old mark alone
	used  int     // how many of these were used until the next pass
	again int     // how many keys came back soon after main had evicted them
}

const (
	fadingEvery = 8   // one slot in this many is in the sample
	stayed      = 128 // a bit of kept: the entry was not used between the last two passes
	minIdle     = 8   // fewer idle entries decide nothing
)

func (f *fading) resize(n int) {
	kept := make([]uint8, (n+fadingEvery-1)/fadingEvery)
	copy(kept, f.kept)
	f.kept = kept
}

// forget forgets what kept has of the slot of entry i, which comes to main.
func (f *fading) forget(i uint32) {
	if i%fadingEvery == 0 {
		f.kept[i/fadingEvery] = 0
	}
}

// count notes that eviction has met entry i of the sample, which has mark marks. It reports
// whether the entry was used since the last pass, as only a use adds marks.
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

// fade takes one mark or all from entry i of main, which has a mark.
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

// met counts an entry that eviction has met in main. When it has met as many as main has, which is
// a revolution, it decides anew, and halves the counts: earlier revolutions count less and less.
func (a *Adaptive) met() {
	f := &a.fading
	if f.met++; f.met < a.len[main] {
		return
	}
	// A slot of an idle entry had used/idle hits in a revolution. With recent more slots main would
	// have had about again/2 more hits: again adds up to two revolutions, because it is halved.
	// That is again/2/recent for each slot. Old marks are worse if they brought less than a quarter
	// of that. One such decision may come from a loop that has just ended, so only two in a row
	// make entries lose all marks.
	recent := share(a.slots, recentPercent)
	worse := f.idle >= minIdle && int64(f.used)*int64(recent)*8 < int64(f.again)*int64(f.idle)
	f.all, f.worse = worse && f.worse, worse
	f.met = 0
	f.idle /= 2
	f.used /= 2
	f.again /= 2
}
