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
	permit    *int         // how many loads share it; nil before and after
	waits     bool         // for a permit
	acquired  bool         // Acquire has returned err
	err, want error
}

func (l *modelLoad) runs() bool { return l.permit != nil }

// TestPermitsModel compares permits with a model while loads begin in fetches, which may have ended, or in
// the background, wait for each other, are left and end.
func TestPermitsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(t *rapid.T) { // a bubble has no Deadline, for which rapid asks a testing.T
			most := rapid.IntRange(1, 3).Draw(t, "permits")
			r, free, all := newRules(most, 0), most, []*modelLoad{{acquired: true}} // oldest first
			r.begin(context.Background(), &all[0].Flight)
			r.Release(&all[0].Flight)
			defer func() { // also after a failure: nothing may wait at the end of the bubble
				for _, l := range all {
					l.End(context.Canceled, errWhy)
				}
			}()
			// run gives a load a permit that is free or that it is lent, if there is one.
			run := func(l *modelLoad, lenders []*modelLoad) {
				if i := slices.IndexFunc(lenders, (*modelLoad).runs); free > 0 {
					free--
					l.permit = new(int)
				} else if i >= 0 {
					l.permit = lenders[i].permit
				}
				if l.waits = !l.runs(); !l.waits {
					*l.permit++
				}
			}
			t.Repeat(map[string]func(*rapid.T){
				"begin": func(t *rapid.T) {
					by, l := rapid.SampledFrom(all).Draw(t, "by"), new(modelLoad)
					l.lenders = append([]*modelLoad{l}, by.lenders...)
					who := r.begin(context.WithoutCancel(by), &l.Flight)
					if l.background = rapid.Bool().Draw(t, "background") && r.TryAcquire(); l.background && free == 0 {
						t.Fatal("there is a permit too many")
					}
					all = append(all, l)
					r.Lend(&l.Flight, who.Inside)
					go func() { l.err = r.Acquire(&l.Flight); l.acquired = true }()
					run(l, by.lenders)
				},
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
					if *l.permit--; *l.permit == 0 {
						free++
						if i := slices.IndexFunc(all, func(l *modelLoad) bool { return l.waits }); i >= 0 {
							run(all[i], nil)
						}
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
					if r.Waiting() != waiting {
						t.Fatalf("%d loads wait, want %d", r.Waiting(), waiting)
					}
				},
			})
		})
	})
}
