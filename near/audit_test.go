package near_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// vouchFor has the source vouch ten times a second, for what is up to then, for a time.
func (r *rig) vouchFor(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		r.hand.vouch()
	}
}

// audits says if an auditor did not find so many violations.
func (r *rig) audits(what string, changed, violations uint64) {
	r.t.Helper()
	if a := r.Stats().Near.Audits; a.Changed != changed || a.Violations != violations {
		r.t.Errorf("%s: %+v, want %d legal differences and %d violations", what, a, changed, violations)
	}
}

// TestAudit checks that a change that the source leaves out is found, with its key and its times; and that then the
// old value is forgotten.
func TestAudit(t *testing.T) {
	log := &strings.Builder{}
	o := near.Options[string, string]{Audit: 1, Prefix: "users:", Logger: slog.New(slog.NewTextHandler(log, nil))}
	inRig(t, o, func(t *testing.T, r *rig) {
		r.store("users:k", "1", 0)
		loaded := time.Now()
		r.want("at first", "1", 1, 0)
		r.want("which is drawn", "1", 0, 0)
		r.vouchFor(10 * time.Second)
		if a := r.Stats().Near.Audits; a.OneIn != 1 || a.Same < 6 || a.Changed+a.Violations+a.Unknown > 0 {
			t.Errorf("what is the same: %+v", a)
		}
		changed := time.Now()
		r.store("users:k", "2", 0)
		r.vouchFor(10 * time.Second)
		r.audits("left out", 0, 1)
		r.want("afterwards", "2", 1, 0)
		v := r.LastViolation()
		if v.Loaded.Sub(loaded).Abs() > 20*time.Millisecond || v.Differed.Before(changed) ||
			v.Served.Sub(v.Differed) <= time.Second || time.Since(v.Served) < 0 {
			t.Errorf("loaded %v, changed %v: %+v", loaded, changed, v)
		}
		if want := fmt.Sprintf("\\\"users:k\\\" (hash %016x)", v.Hash); !strings.Contains(log.String(), want) || v.Hash == 0 {
			t.Errorf("the log: %s; want %s", log, want)
		}
	})
}

// TestAuditOfWhatIsLegal checks that it is no violation if the source tells within MaxLag, if memory may not be served,
// if the key is loaded again, also to the same value, or if the store comes back to what it had.
func TestAuditOfWhatIsLegal(t *testing.T) {
	var stops atomic.Bool // the instance, at its next look
	for what, c := range map[string]struct {
		changed uint64
		after   func(r *rig)
	}{
		"told late": {1, func(r *rig) {
			r.vouchFor(2900 * time.Millisecond)
			r.hand.Changed("k")
		}},
		"lost": {1, func(r *rig) {
			r.hand.Lost(errServer)
			time.Sleep(10 * time.Second)
		}},
		"lost, and back": {1, func(r *rig) {
			r.hand.Lost(errServer)
			r.serve()
			r.Take(r.t.Context(), "k", r.fetch)
		}},
		"loaded again": {1, func(r *rig) {
			r.hand.Changed("k")
			r.Take(r.t.Context(), "k", r.fetch)
		}},
		"loaded by a call that asks anew": {1, func(r *rig) {
			_, err := r.TakeWithin(r.t.Context(), "k", 0, r.fetch)
			must(r.t, err)
		}},
		"changed before each look": {3, func(r *rig) {
			for i := range 5 {
				r.hand.vouch()
				r.hand.Changed("k")
				r.Take(r.t.Context(), "k", r.fetch)
				looked := r.looked()
				r.store("k", fmt.Sprint("again ", i), 0)
				<-looked
			}
			r.hand.Changed("k")
		}},
		"changed back": {1, func(r *rig) {
			r.vouchFor(2 * time.Second)
			r.store("k", "1", 0)
		}},
		"removed here": {1, func(r *rig) { must(r.t, r.Del(r.t.Context(), "k")) }},
		"stopped": {1, func(r *rig) {
			stops.Store(true)
			time.Sleep(10 * time.Second)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			inRig(t, near.Options[string, string]{Audit: 1, MaxLag: 3 * time.Second}, func(t *testing.T, r *rig) {
				r.server.fail = func(op string) bool {
					if op == "get reply" && stops.Swap(false) {
						r.Sleep(5 * time.Second)
					}
					return false
				}
				r.store("k", "1", 0)
				r.want("at first", "1", 1, 0)
				r.want("which is drawn", "1", 0, 0)
				r.hand.vouch()
				looked := r.looked()
				r.store("k", "2", 0)
				<-looked
				c.after(r)
				r.vouchFor(10 * time.Second)
				r.audits(what, c.changed, 0)
			})
		})
	}
}

// looked returns a channel that is closed when the store has been read the next time.
func (r *rig) looked() <-chan struct{} {
	looked, before := make(chan struct{}), r.server.called("get")
	go func() {
		for r.server.called("get") == before {
			time.Sleep(time.Millisecond)
		}
		close(looked)
	}()
	return looked
}

// TestAuditWhileSilent checks that it is no violation if the source, which has left out a change, is silent from then
// on: memory is not served over MaxLag after the last confirmed moment.
func TestAuditWhileSilent(t *testing.T) {
	inRig(t, near.Options[string, string]{Audit: 1}, func(t *testing.T, r *rig) {
		var looked atomic.Bool
		r.server.fail = func(op string) bool {
			if op == "get reply" && !looked.Swap(true) {
				go func() {
					time.Sleep(time.Microsecond)
					r.hand.vouch() // for the last time
				}()
			}
			return false
		}
		r.store("k", "1", 0)
		r.want("at first", "1", 1, 0)
		r.want("which is drawn", "1", 0, 0)
		r.store("k", "2", 0)
		for time.Sleep(time.Millisecond); !looked.Load(); time.Sleep(time.Millisecond) {
			r.hand.vouch()
		}
		time.Sleep(10 * time.Second)
		r.audits("silent", 1, 0)
	})
}

// TestAuditOfAStoreThatFails checks that nothing is known while the store cannot be asked.
func TestAuditOfAStoreThatFails(t *testing.T) {
	inRig(t, near.Options[string, string]{Audit: 1}, func(t *testing.T, r *rig) {
		var away atomic.Bool
		r.server.fail = func(string) bool { return away.Load() }
		r.store("k", "1", 0)
		r.want("at first", "1", 1, 0)
		r.want("which is drawn", "1", 0, 0)
		away.Store(true)
		r.vouchFor(10 * time.Second)
		if a := r.Stats().Near.Audits; a.Unknown < 6 || a.Same+a.Changed+a.Violations > 0 {
			t.Errorf("%+v", a)
		}
	})
}

// TestAuditBy checks what the database says: a write without a Del, a Del that follows soon, errors and panics.
func TestAuditBy(t *testing.T) {
	errAway := errors.New("away")
	var row atomic.Value
	row.Store("1")
	o := near.Options[string, string]{Audit: 1, AuditBy: func(context.Context, string) (string, error) {
		switch is := row.Load().(string); is {
		case "panic":
			panic("of the program")
		case "exit":
			runtime.Goexit()
		case "away":
			return "", errAway
		case "removed":
			return "", near.ErrNotFound
		}
		return row.Load().(string), nil
	}}
	inRig(t, o, func(t *testing.T, r *rig) {
		r.value = "1"
		r.want("at first", "1", 1, 1)
		r.want("which is drawn", "1", 0, 0)
		r.vouchFor(10 * time.Second)
		r.audits("the same", 0, 0)
		for _, is := range []string{"panic", "exit", "away"} {
			row.Store(is)
			before := r.Stats().Near.Audits
			r.vouchFor(10 * time.Second)
			if a := r.Stats().Near.Audits; a.Same > before.Same {
				t.Errorf("%s: %+v", is, a)
			}
			r.audits(is, 0, 0)
		}
		row.Store("2")
		r.vouchFor(6 * time.Second)
		must(t, r.Del(t.Context(), "k"))
		r.vouchFor(3 * time.Second)
		r.audits("followed by its Del", 1, 0)
		r.want("which brings", "1", 1, 1)
		r.vouchFor(10 * time.Second)
		r.audits("without a Del", 1, 1)
		row.Store("removed")
		r.want("which stays in the store", "1", 1, 0)
		r.vouchFor(10 * time.Second)
		r.audits("removed", 1, 2)
	})
}

// TestAuditOfWhatDiffersForLong checks that AuditBy is called for eight keys a second also while they differ, and that a
// key which differed, and can be asked for no more, is given up.
func TestAuditOfWhatDiffersForLong(t *testing.T) {
	var asked atomic.Int32
	var away atomic.Bool
	o := near.Options[string, string]{Audit: 1, MaxLag: 100 * time.Millisecond, AuditBy: func(context.Context, string) (string, error) {
		asked.Add(1)
		if away.Load() {
			return "", errServer
		}
		return "another", nil
	}}
	inRig(t, o, func(t *testing.T, r *rig) {
		ask := func(d time.Duration) int32 {
			before := asked.Load()
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				r.hand.vouch()
			}
			return asked.Load() - before
		}
		for key := range 16 {
			r.Take(t.Context(), fmt.Sprint(key/2), r.fetch)
		}
		if n := ask(4 * time.Second); n < 16 || n > 8*6 || r.Stats().Near.Audits.Changed > 0 {
			t.Errorf("%d calls in four seconds", n)
		}
		away.Store(true)
		ask(15 * time.Minute)
		if n := ask(time.Minute); n > 0 {
			t.Errorf("%d calls while nobody has used the cache", n)
		}
	})
}

// An odd is a value that a codec may write in several ways.
type odd struct {
	Names map[string]int
	local func() // which no codec keeps
	At    float64
}

// TestAuditOfCodecs checks that values are the same that a codec writes with other bytes each time, or in part; and
// that nothing is known of those that it reads in several ways.
func TestAuditOfCodecs(t *testing.T) {
	json := near.JSON[odd]()
	salted := near.Codec[odd]{
		Encode: func(v odd) ([]byte, error) {
			data, err := json.Encode(v)
			return append([]byte{byte(rand.Uint32())}, data...), err
		},
		Decode: func(data []byte) (odd, error) { return json.Decode(data[1:]) },
	}
	unlike := near.Codec[odd]{Encode: salted.Encode, Decode: func(data []byte) (odd, error) {
		v, err := salted.Decode(data)
		v.At = math.NaN()
		return v, err
	}}
	decodes := 0
	broken := near.Codec[odd]{Encode: salted.Encode, Decode: func(data []byte) (odd, error) {
		if decodes++; decodes > 5 {
			return odd{}, errOfLoad
		}
		return salted.Decode(data)
	}}
	for what, codec := range map[string]near.Codec[odd]{"salted": salted, "unlike": unlike, "broken": broken} {
		bubble(t, func(t *testing.T) {
			r := &rig{t: t, server: newServer(), hand: new(hand)}
			c, err := near.New[string, odd](r.server, r.hand, near.Options[string, odd]{Audit: 1, Values: codec})
			must(t, err)
			defer c.Close(context.Background())
			synctest.Wait() // for Watch
			r.serve()
			for range 2 {
				_, err = c.Take(t.Context(), "k", func(context.Context) (odd, error) {
					return odd{Names: map[string]int{"a": 1, "b": 2}, local: func() {}}, nil
				})
				must(t, err)
			}
			r.vouchFor(10 * time.Second)
			a := c.Stats().Near.Audits
			if a.Changed+a.Violations > 0 || (a.Same > 5) != (what == "salted") || (a.Unknown > 5) == (what == "salted") {
				t.Errorf("%s: %+v", what, a)
			}
		})
	}
}

// TestAuditOptions checks that a negative Audit is refused, and an AuditBy without Audit.
func TestAuditOptions(t *testing.T) {
	by := func(context.Context, string) (string, error) { return "", nil }
	for _, o := range []near.Options[string, string]{{Audit: -1}, {AuditBy: by}} {
		if _, err := near.New(newServer(), &hand{}, o); !errors.Is(err, cache.ErrArgument) || !strings.Contains(err.Error(), "Audit is") {
			t.Errorf("%d: %v", o.Audit, err)
		}
	}
}

// TestAuditIsBounded checks that however many hits draw keys, a look asks the store once for 64, and AuditBy for eight;
// that others get their turn; and that a cache which nobody uses asks nothing.
func TestAuditIsBounded(t *testing.T) {
	for _, most := range []int{64, 8} {
		var asked sync.Map
		o := near.Options[string, string]{Audit: 1}
		if most == 8 {
			o.AuditBy = func(_ context.Context, key string) (string, error) {
				asked.Store(key, nil)
				return "fetched", nil
			}
		}
		inRig(t, o, func(t *testing.T, r *rig) {
			for range 300 {
				for range 100 {
					_, err := r.Take(t.Context(), fmt.Sprint(rand.IntN(200)), r.fetch)
					must(t, err)
				}
				r.vouchFor(time.Second)
			}
			compared, keys := int(r.Stats().Near.Audits.Same), 0
			asked.Range(func(any, any) bool { keys++; return true })
			reads := r.server.called("get")
			fits := reads <= 400
			if most == 8 {
				fits = reads == 0 && keys >= 100
			}
			if !fits || compared > most*400 || compared < most*200 {
				t.Errorf("%d at once: %d compared, of %d keys, by %d reads", most, compared, keys, reads)
			}
			r.vouchFor(15 * time.Minute)
			compared = int(r.Stats().Near.Audits.Same)
			r.vouchFor(time.Minute)
			if again := int(r.Stats().Near.Audits.Same); again > compared {
				t.Errorf("%d at once: %d compared while nobody has used the cache", most, again-compared)
			}
		})
	}
}

// TestEveryHitMayBeDrawn checks that each way to get a value draws its key, and none that has none; and that ages are
// those of what was drawn.
func TestEveryHitMayBeDrawn(t *testing.T) {
	for what, get := range map[string]func(ctx context.Context, c *near.Cache[string, string]) error{
		"Take": func(ctx context.Context, c *near.Cache[string, string]) error {
			_, err := c.Take(ctx, "k", func(context.Context) (string, error) { return "v", nil })
			return err
		},
		"TakeMany": func(ctx context.Context, c *near.Cache[string, string]) error {
			_, err := c.TakeMany(ctx, []string{"k"}, func(context.Context, []string) (map[string]string, error) {
				return map[string]string{"k": "v"}, nil
			})
			return err
		},
		"Fetch": func(ctx context.Context, c *near.Cache[string, string]) error {
			_, err := c.Fetch(ctx, "k")
			return err
		},
		"FetchMany": func(ctx context.Context, c *near.Cache[string, string]) error {
			_, err := c.FetchMany(ctx, []string{"k"})
			return err
		},
		"Get": func(ctx context.Context, c *near.Cache[string, string]) error {
			_, _, err := c.Get(ctx, "k")
			return err
		},
		"TakeWithin": func(ctx context.Context, c *near.Cache[string, string]) error {
			_, err := c.TakeWithin(ctx, "k", time.Minute, func(context.Context) (string, error) { return "v", nil })
			return err
		},
	} {
		o := near.Options[string, string]{Audit: 1, Cache: cache.Options[string, string]{Load: loadOne}}
		inRig(t, o, func(t *testing.T, r *rig) {
			r.store("k", "v", 0)
			must(t, get(t.Context(), r.Cache))
			r.vouchFor(3 * time.Second)
			if a := r.Stats().Near.Audits; a.Same > 0 {
				t.Errorf("%s: a miss was drawn: %+v", what, a)
			}
			must(t, get(t.Context(), r.Cache))
			r.vouchFor(3 * time.Second)
			if a := r.Stats().Near.Audits; a.Same == 0 {
				t.Errorf("%s: no hit was drawn: %+v", what, a)
			}
		})
	}
}

// TestAuditOfAFleet runs an hour of faults, in fake time: the auditors of all instances find legal differences, and no
// violation; and some, if the source leaves out changes.
//
// Catches: a fence that lets nothing through, or anything.
func TestAuditOfAFleet(t *testing.T) {
	for _, lying := range []int{0, 30} {
		s := setup{Seed: 7, Delay: 40, Load: 20, Faults: true, Failing: true, Jitter: true, NotFound: true, Schemas: true,
			MaxLag: 300, Lease: 1000, Expire: 60_000, Lying: lying, Audit: 1, For: time.Hour, Calm: 150}
		f := runFleet(t, s)
		t.Logf("%d answers, %d of them from here: %+v", f.answers, f.localHits, f.audits)
		if a := f.audits; a.Same < 5000 || a.Changed < 30 || (a.Violations > 0) != (lying > 0) {
			t.Errorf("%d of 100 changes left out: %+v", lying, a)
		}
		if lying == 0 && len(f.problems) > 0 {
			t.Errorf("%d answers are wrong, such as: %s", len(f.problems), f.problems[0])
		}
	}
}
