package flight

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// A modelLoad is a load, and what the model of permits knows of it.
type modelLoad struct {
	Flight
	lenders   []*modelLoad // itself and the loads in whose fetches it was begun, from the inside
	permit    *int         // how many loads share it, or unneeded; nil before and after
	waits     bool         // for a permit
	acquired  bool         // Acquire has returned err
	err, want error
}

func (l *modelLoad) runs() bool { return l.permit != nil }

func (r *Rules) taken() int {
	if p := r.permits.Load(); p != nil {
		return int(p.taken)
	}
	return 0
}

// unneeded is what a load has that began without a limit, or shares with one.
var unneeded = new(int)

// TestPermitsModel compares permits with a model while loads begin in fetches, which may have ended, or in
// the background, wait for each other, are left and end, and while their number changes.
func TestPermitsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(t *rapid.T) { // a bubble has no Deadline, for which rapid asks a testing.T
			limit := rapid.IntRange(0, 3)
			most, taken := limit.Draw(t, "permits"), 0
			r, all := newRules(most, 0), []*modelLoad{{acquired: true}} // oldest first
			free := func() bool { return most == 0 || taken < most }
			r.begin(context.Background(), &all[0].Flight)
			r.Release(&all[0].Flight)
			defer func() { // also after a failure: nothing may wait at the end of the bubble
				for _, l := range all {
					l.End(context.Canceled, errWhy)
				}
			}()
			// run gives a load a permit that is free or that it is lent, if there is one.
			run := func(l *modelLoad, lenders []*modelLoad) {
				if i := slices.IndexFunc(lenders, (*modelLoad).runs); i >= 0 && lenders[i].permit == unneeded {
					l.permit = unneeded
				} else if free() {
					taken++
					l.permit = new(int)
				} else if i >= 0 {
					l.permit = lenders[i].permit
				}
				if l.waits = !l.runs(); !l.waits {
					*l.permit++
				}
			}
			serve := func() {
				for _, l := range all {
					if l.waits && free() {
						run(l, nil)
					}
				}
			}
			setLimit := func(t *rapid.T) {
				most = limit.Draw(t, "permits")
				r.SetMost(most)
				serve()
			}
			t.Repeat(map[string]func(*rapid.T){
				"begin": func(t *rapid.T) {
					by, l := rapid.SampledFrom(all).Draw(t, "by"), new(modelLoad)
					l.lenders = append([]*modelLoad{l}, by.lenders...)
					var held *Permit
					background := rapid.Bool().Draw(t, "background")
					if background {
						want := free()
						if held, background = r.TryAcquire(); background != want {
							t.Fatalf("there is a permit: %v, want %v", background, want)
						}
					}
					if background {
						if l.permit = unneeded; most > 0 {
							run(l, nil)
						}
						if rapid.Bool().Draw(t, "between") {
							setLimit(t)
						}
					}
					who := r.begin(context.WithoutCancel(by), &l.Flight)
					if background {
						l.RunInBackground(held)
					}
					all = append(all, l)
					r.Lend(&l.Flight, who.Inside)
					go func() { l.err = r.Acquire(&l.Flight); l.acquired = true }()
					switch {
					case background:
					case most == 0:
						l.permit = unneeded
					default:
						run(l, by.lenders)
					}
				},
				"limit": setLimit,
				"wait": func(t *rapid.T) {
					by, l := rapid.SampledFrom(all).Draw(t, "by"), rapid.SampledFrom(all).Draw(t, "for")
					if r.Lend(&l.Flight, r.CallerOf(by).Inside); l.waits {
						run(l, by.lenders)
					}
				},
				"end": func(t *rapid.T) {
					l := rapid.SampledFrom(all).Draw(t, "load")
					l.Leave(context.Canceled, errWhy)
					if synctest.Wait(); l.waits {
						l.waits, l.want = false, errWhy
					}
					r.Release(&l.Flight)
					if !l.runs() {
						return
					}
					if *l.permit--; *l.permit == 0 && l.permit != unneeded {
						taken--
						serve()
					}
					l.permit = nil
				},
				"": func(t *rapid.T) {
					synctest.Wait()
					waiting := 0
					for _, l := range all {
						if l.acquired == l.waits || l.err != l.want {
							t.Fatalf("Acquire has returned: %v, %v; want %v, %v", l.acquired, l.err, !l.waits, l.want)
						} else if l.waits {
							waiting++
						}
					}
					if r.Waiting() != waiting || r.taken() != taken || r.Most() != most {
						t.Fatalf("%d loads wait, with %d of %d permits; want %d with %d of %d", r.Waiting(), r.taken(), r.Most(), waiting, taken, most)
					}
				},
			})
		})
	})
}
