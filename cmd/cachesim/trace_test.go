package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"pgregory.net/rapid"
)

// A trace that is halved while it grows equals one that kept the same keys from the start.
func TestTraceSamplesByKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Custom(func(t *rapid.T) access {
			return access{
				op:   op(rapid.IntRange(int(opRead), int(opClear)).Draw(t, "op")),
				hit:  rapid.Bool().Draw(t, "hit"),
				key:  spread(rapid.Uint64Range(0, 60).Draw(t, "key")),
				at:   time.Duration(rapid.IntRange(0, 3).Draw(t, "at")),
				ttl:  time.Duration(rapid.IntRange(0, 3).Draw(t, "ttl")),
				size: rapid.Uint32Range(0, 3).Draw(t, "size"),
			}
		})
		all := rapid.SliceOfN(draw, 1, 300).Draw(t, "accesses")
		tr := newTrace(rapid.IntRange(5, 200).Draw(t, "most accesses"), rapid.IntRange(1, 60).Draw(t, "most keys"))
		gets := uint64(0)
		for i := range all {
			if all[i].op == opClear {
				all[i].key = 0
			}
			if all[i].op.get() {
				gets++
			}
			tr.add(all[i])
		}
		want, kept := all[:0:0], uint64(0)
		for _, a := range all {
			if a.op == opClear || a.key>>32 < tr.below {
				want = append(want, a)
				if a.op.get() {
					kept++
				}
			}
		}
		got := make([]access, len(tr.ids))
		for i := range got {
			got[i] = tr.access(i)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("kept %v, want %v", got, want)
		}
		if tr.total != gets || tr.kept != kept || len(tr.hashes) != len(tr.byHash) {
			t.Fatalf("%d gets and %d kept, want %d and %d; %d and %d keys", tr.total, tr.kept, gets, kept, len(tr.hashes), len(tr.byHash))
		}
		if len(tr.hashes) > tr.maxKeys && tr.below > 1 {
			t.Fatalf("%d keys, want at most %d", len(tr.hashes), tr.maxKeys)
		}
	})
}

// The estimate from a sample is within its stated error 19 times in 20.
func TestSampleAgainstAll(t *testing.T) {
	within, all, worst := 0, 0, 0.0
	for seed, skew := range []float64{1.05, 1.2, 1.4} {
		keys := zipf(400_000, 100_000, skew, uint64(seed))
		for i := range keys { // a tenth comes in loops
			if i%10 == 0 {
				keys[i] = 1_000_000 + i/10%5000
			}
		}
		whole, sample := traceOf(keys), newTrace(1<<30, 4000)
		for _, key := range keys {
			sample.add(access{key: spread(uint64(key))})
		}
		if sample.rate() > 0.25 {
			t.Fatalf("the sample has %v of the keys: this is to be a small one", sample.rate())
		}
		for _, policy := range []string{"lru", "adaptive", clairvoyant} {
			for _, n := range []uint64{4000, 8000, 16_000, 32_000} {
				want, err := newLab(whole).run(policy, limit{n: n})
				settle.Must(t, err)
				got, err := newLab(sample).run(policy, limit{n: n})
				settle.Must(t, err)
				off := math.Abs(got.ratio() - want.ratio())
				t.Logf("skew %v, %s, %d: sample %.4f ± %.4f, all %.4f", skew, policy, n, got.ratio(), got.Error, want.ratio())
				worst = max(worst, off)
				if all++; off <= got.Error {
					within++
				}
				if got.Gets != want.Gets {
					t.Errorf("%d gets, want %d", got.Gets, want.Gets)
				}
			}
		}
	}
	if within*10 < all*9 || worst > 0.02 {
		t.Errorf("%d of %d are within the error they state, and the worst is off by %.3f: want nine tenths, and 0.02", within, all, worst)
	}
}

func TestSummary(t *testing.T) {
	tr := newTrace(1<<30, 1<<30)
	for i, key := range []uint64{1, 2, 1, 3, 2, 1, 4, 5, 5, 1} {
		tr.add(access{key: key, at: time.Duration(i) * time.Second, size: 10 * uint32(key)})
	}
	got := summarize(tr)
	want := summary{
		Gets: 10, Keys: 5, Once: 2, Half: 2, Most: 4, Seconds: 9, Bytes: 150, SampleRate: 1, SampleKeys: 5,
		Working: 2, // 1 and 2; or 1 and 5
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
