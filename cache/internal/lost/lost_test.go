package lost

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestLostKeys checks that after random stores and removals most keys of the sample are
// remembered, each with its last reason.
func TestLostKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SampledFrom([]int{1, 64, 500, 1000, 100_000}).Draw(t, "entries")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		hashes := make([]uint64, 3*entries/2)
		for i := range hashes {
			hashes[i] = r.Uint64()
		}
		var l Keys
		last := map[uint64]Reason{}
		for range min(2*entries, 1<<16) {
			h := hashes[r.IntN(len(hashes))]
			if last[h] = Reason(r.IntN(int(ByEviction) + 1)); last[h] == Unknown {
				l.Forget(h)
			} else {
				l.Add(h, last[h], entries)
			}
		}
		sampled, known, wrong := 0, 0, 0
		for h, want := range last {
			got := l.reason(h)
			switch {
			case !l.remembers(h):
				if got != 0 {
					t.Fatalf("a key that is not in the sample went for %v", got)
				}
				continue
			case got == want:
				known++
			case got != 0:
				wrong++
			}
			sampled++
		}
		if wrong > 1+sampled/1000 {
			t.Fatalf("%d of %d are wrong, for %d entries", wrong, sampled, entries)
		}
		if entries > 64 && known < sampled/2 {
			t.Fatalf("only %d of %d are known", known, sampled)
		}
		if entries <= slots && sampled != len(last) || entries > slots && sampled*entries > 2*slots*len(last) {
			t.Fatalf("a sample of %d from %d keys, for %d entries", sampled, len(last), entries)
		}
	})
}

// TestLostKeysEstimate checks that the counts by reason are right although only a sample of
// many keys is remembered, also if most misses are of one unknown key, and when the reasons
// change.
func TestLostKeysEstimate(t *testing.T) {
	for _, entries := range []int{2000, 20_000, 200_000} {
		r := rand.New(rand.NewPCG(1, uint64(entries)))
		var l Keys
		l.Add(r.Uint64(), ByExpiry, entries)
		never := r.Uint64()
		for tries := 0; l.remembers(never); never = r.Uint64() {
			if tries++; tries > 100 {
				t.Fatalf("of %d entries all keys are in the sample", entries)
			}
		}
		for _, want := range [][3]float64{{0.6, 0.3, 0.1}, {0.1, 0, 0.9}, {0, 1, 0}, {0, 0, 1}} {
			const misses = 1 << 20
			var got [3]float64 // absent, expired, evicted
			for range misses {
				h, reason := r.Uint64(), ByEviction
				switch part := r.Float64(); {
				case part < want[0]:
					h = never
				case part < want[0]+want[1]:
					reason = ByExpiry
					fallthrough
				default:
					l.Add(h, reason, entries)
				}
				got[l.Miss(h)] += 1. / misses
				l.Forget(h)
			}
			for i := range got {
				if math.Abs(got[i]-want[i]) > 0.03 {
					t.Errorf("%d entries: parts %.3f, want %.3f", entries, got, want)
					break
				}
			}
		}
	}
}
