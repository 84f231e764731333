package near_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// byLetter puts a value into the group of its first letter, and of its length.
func byLetter(_, value string) []string { return []string{value[:1], strconv.Itoa(len(value))} }

// grouped returns a rig whose values have groups.
func grouped(t *testing.T, o near.Options[string, string]) *rig {
	t.Helper()
	o.Groups = byLetter
	return newRig(t, o)
}

// beside returns another instance over the store of r, which hears of nothing by itself.
func (r *rig) beside(o near.Options[string, string]) *rig {
	r.t.Helper()
	other := &rig{t: r.t, server: r.server, hand: new(hand), value: "fetched"}
	other.Cache = other.join(r.server, o)
	other.hand.ChangedAll()
	other.hand.vouch()
	return other
}

// takes takes a key for a value, and reports whether that was fetched.
func (r *rig) takes(key, value string) (fetched bool) {
	r.t.Helper()
	before := r.fetched
	r.value = value
	got, err := r.Take(r.t.Context(), key, r.fetch)
	if err != nil || got != value {
		r.t.Errorf("Take of %s = %q, %v; want %q", key, got, err, value)
	}
	return r.fetched > before
}

// groupKeys are what the store has of groups with the prefix "".
const groupMark = "\x00near\x00"

// TestDelGroup checks that all members of a group are gone, here and in an instance that is told,
// and nothing else.
func TestDelGroup(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := grouped(t, near.Options[string, string]{})
		other := r.beside(near.Options[string, string]{Groups: byLetter})
		without := r.beside(near.Options[string, string]{})
		for key, value := range map[string]string{"1": "apple", "2": "avocado", "3": "banana"} {
			r.takes(key, value)
			for _, one := range []*rig{r, other, without} {
				for range 2 { // from the store, from memory
					if one.takes(key, value) {
						t.Errorf("%s was fetched again", key)
					}
				}
			}
		}
		hits := func(one *rig, key, value string) bool {
			before := one.Stats().Hits
			got, ok, err := one.Get(t.Context(), key)
			return err == nil && ok && got == value && one.Stats().Hits == before+1
		}
		if err := without.DelGroup(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		for _, one := range []*rig{other, r} {
			if !hits(one, "1", "apple") || !hits(one, "3", "banana") {
				t.Error("gone before it was told")
			}
			one.hand.Changed(groupMark + "@a")
			one.hand.Changed(groupMark + "#")
		}
		for _, one := range []*rig{r, other, without} {
			if !hits(one, "3", "banana") {
				t.Error("another group is gone")
			}
			for _, key := range []string{"1", "2"} {
				if got, ok, err := one.Get(t.Context(), key); ok || err != nil {
					t.Errorf("after DelGroup: %s is %q, %v", key, got, err)
				}
			}
		}
		if !other.takes("1", "apricot") || r.takes("1", "apricot") || without.takes("1", "apricot") {
			t.Error("not fetched once")
		}
		if err := r.DelGroup(t.Context(), "6", "7"); err != nil { // by its length
			t.Fatal(err)
		}
		if !r.takes("3", "blueberry") || !r.takes("1", "ananas") {
			t.Error("the second group of a value is still there")
		}
		if err := r.DelGroup(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupDuringALoad checks that a value is stored nowhere if its group was removed since its fetch
// began, whoever removed it, and whether or not anybody has told this instance; that who asks
// after DelGroup gets a later one; and that members of other groups are stored.
func TestGroupDuringALoad(t *testing.T) {
	for _, own := range []bool{true, false} {
		t.Run("own="+strconv.FormatBool(own), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := grouped(t, near.Options[string, string]{})
				other := r.beside(near.Options[string, string]{Groups: byLetter})
				remover := other
				if own {
					remover = r
				}
				r.takes("before", "apple") // so that the groups have generations
				r.takes("and this", "lemon")
				began, goOn := make(chan bool), make(chan bool)
				slow := func(value string) func(context.Context) (string, error) {
					return func(context.Context) (string, error) {
						began <- true
						<-goOn
						return value, nil
					}
				}
				answers := make(chan string, 2)
				for key, value := range map[string]string{"k": "almond", "l": "lemon"} {
					go func() {
						got, err := r.Take(t.Context(), key, slow(value))
						if err != nil {
							t.Error(err)
						}
						answers <- got
					}()
				}
				<-began
				<-began
				if err := remover.DelGroup(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				if own { // the lease of the first is still there, so this one waits for its end
					go func() { answers <- strconv.FormatBool(r.takes("k", "acorn")) }()
					synctest.Wait()
				}
				close(goOn)
				<-answers
				<-answers
				if own {
					if <-answers != "true" {
						t.Error("a caller after DelGroup got what was fetched before")
					}
				} else if !other.takes("k", "acorn") {
					t.Error("the store has what was fetched before DelGroup")
				}
				if other.takes("l", "lemon") {
					t.Error("a member of another group was not stored")
				}
				if s := r.Stats().Near; s.Overtaken != 1 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// TestGroupsToldDuringALoad checks that a load whose group is told to have changed keeps nothing
// in memory.
func TestGroupsToldDuringALoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := grouped(t, near.Options[string, string]{})
		r.takes("k", "apple")
		r.server.delay = func() time.Duration { return time.Millisecond }
		go func() {
			time.Sleep(time.Millisecond) // the item has been read, and travels
			r.server.mu.Lock()
			r.server.put(groupMark+"@a", near.Item{State: near.Found, Value: []byte("9.other")})
			r.server.mu.Unlock()
			r.hand.Changed(groupMark + "@a")
		}()
		r.hand.Changed("k")
		if _, _, err := r.Get(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		if got, ok, err := r.Get(t.Context(), "k"); ok || err != nil {
			t.Errorf("kept %q, %v", got, err)
		}
	})
}

// TestLostGeneration checks that members do not come back if the store loses the generation of their
// group or the counter, by eviction or a TTL, before or after DelGroup.
func TestLostGeneration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := grouped(t, near.Options[string, string]{Expire: time.Hour})
		other := r.beside(near.Options[string, string]{Groups: byLetter})
		lose := func(key string) {
			r.server.mu.Lock()
			r.server.drop(groupMark + key)
			r.server.mu.Unlock()
			for _, one := range []*rig{r, other} {
				one.hand.Changed(groupMark + key)
			}
		}
		versions := 0
		next := func() string { versions++; return "apple " + strconv.Itoa(versions) }
		value := next()
		r.takes("k", value)
		check := func(what string, one *rig, gone bool) {
			t.Helper()
			if gone {
				value = next()
			}
			if one.takes("k", value) != gone {
				t.Errorf("%s: fetched %v, want %v", what, !gone, gone)
			}
			one.takes("k", value)
		}
		lose("#")
		check("the counter is lost", other, false)
		lose("@a")
		check("the generation is lost", other, true)
		check("in another instance", r, false)
		for _, key := range []string{"#", "@a"} {
			if err := r.DelGroup(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			other.hand.Changed(groupMark + "@a")
			lose(key)
			check("DelGroup, and lost: "+key, other, true)
			check("in another instance", r, false)
		}
	})
}

// TestLostGenerationDuringALoad checks that a load is not stored if the generation was lost after its
// group was removed.
func TestLostGenerationDuringALoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := grouped(t, near.Options[string, string]{})
		other := r.beside(near.Options[string, string]{Groups: byLetter})
		_, err := r.Take(t.Context(), "k", func(context.Context) (string, error) {
			if err := other.DelGroup(t.Context(), "a"); err != nil {
				t.Error(err)
			}
			r.server.mu.Lock()
			r.server.drop(groupMark + "@a")
			r.server.mu.Unlock()
			return "apple", nil
		})
		if err != nil || !other.takes("k", "apricot") {
			t.Errorf("it was stored, %v", err)
		}
	})
}

// TestAgeOfGenerations checks that TakeWithin goes by the generations of its own time.
func TestAgeOfGenerations(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := grouped(t, near.Options[string, string]{})
		other := r.beside(near.Options[string, string]{Groups: byLetter})
		r.takes("k", "apple")
		r.takes("k", "apple")
		if err := other.DelGroup(t.Context(), "a"); err != nil { // r is not told
			t.Fatal(err)
		}
		if r.takes("k", "apple") {
			t.Error("it is not in memory")
		}
		got, err := r.TakeWithin(t.Context(), "k", 0, func(context.Context) (string, error) { return "acorn", nil })
		if err != nil || got != "acorn" {
			t.Errorf("TakeWithin is %q, %v", got, err)
		}
	})
}

// TestNewerThanKnown checks that a value of a generation that this instance has not heard of is not
// taken for an old one, and removed.
func TestNewerThanKnown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := grouped(t, near.Options[string, string]{})
		other := r.beside(near.Options[string, string]{Groups: byLetter})
		r.takes("l", "apple")
		r.takes("l", "apple") // so that its generation is known here
		if err := other.DelGroup(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		other.takes("k", "acorn")
		if r.takes("k", "acorn") || other.takes("k", "acorn") {
			t.Error("fetched twice")
		}
	})
}

// TestGroupsOfOldValues checks that nothing in its Grace stands in for a member of a group that was
// removed, that a refreshed value keeps its groups, also one that is Unchanged, and that Set gives
// some.
func TestGroupsOfOldValues(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := grouped(t, near.Options[string, string]{Expire: time.Minute, Refresh: 0.5, Grace: time.Hour})
		unchanged := func(_ context.Context, l *cache.Load[string]) (string, error) {
			if l.Unchanged = l.HasOld; !l.HasOld {
				return "acorn", nil
			}
			return "", nil
		}
		forget := func() { r.hand.Changed("k") }
		age := func(d time.Duration) {
			time.Sleep(d)
			r.hand.vouch()
			forget()
		}
		gone := func(what, fresh string) {
			t.Helper()
			if err := r.DelGroup(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if !r.takes("k", fresh) {
				t.Errorf("%s: not fetched", what)
			}
			forget()
		}
		r.takes("k", "apple")
		age(2 * time.Minute)
		gone("in its Grace", "almond")

		for _, due := range []time.Duration{40 * time.Second, 2 * time.Minute} {
			age(due)
			for range 2 { // the first begins the refresh
				if _, err := r.TakeWith(t.Context(), "k", unchanged); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				forget()
			}
			gone("unchanged after "+due.String(), "almond")
		}
		if err := r.Set(t.Context(), "k", "avocado"); err != nil {
			t.Fatal(err)
		}
		if r.takes("k", "avocado") {
			t.Error("Set stored nothing")
		}
		gone("after Set", "almond")
	})
}

// TestTakeManyOfGroups checks that TakeMany loads what a group has lost, by one fetch, and waits for
// nobody who does the same.
func TestTakeManyOfGroups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := grouped(t, near.Options[string, string]{})
		other := r.beside(near.Options[string, string]{Groups: byLetter})
		take := func(one *rig, first string) (fetches, keys int) {
			t.Helper()
			got, err := one.TakeMany(t.Context(), []string{"1", "2", "3"}, func(_ context.Context, missing []string) (map[string]string, error) {
				fetches++
				keys += len(missing)
				all := map[string]string{}
				for _, key := range missing {
					all[key] = first + key
				}
				return all, nil
			})
			if err != nil || len(got) != 3 {
				t.Errorf("%v, %v", got, err)
			}
			return fetches, keys
		}
		if fetches, keys := take(r, "a"); fetches != 1 || keys != 3 {
			t.Errorf("at first: %d fetches of %d keys", fetches, keys)
		}
		if fetches, _ := take(other, "a"); fetches != 0 {
			t.Error("the other instance fetched")
		}
		if err := r.DelGroup(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if fetches, keys := take(r, "b"); fetches != 1 || keys != 3 {
			t.Errorf("after DelGroup: %d fetches of %d keys", fetches, keys)
		}
		other.hand.Changed(groupMark + "@a")
		if fetches, _ := take(other, "b"); fetches != 0 || r.takes("1", "b1") {
			t.Error("what was fetched after DelGroup was not stored")
		}
	})
}

// TestDelGroupFails checks that memory forgets a group also if the store cannot be asked, and that loads
// while it cannot are forgotten, too.
func TestDelGroupFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := grouped(t, near.Options[string, string]{})
		r.takes("k", "apple")
		r.takes("k", "apple")
		r.server.fail = func(string) bool { return true }
		if err := r.DelGroup(t.Context(), "a"); !errors.Is(err, near.ErrStore) {
			t.Errorf("DelGroup is %v", err)
		}
		if !r.takes("k", "acorn") { // past the store, for less than MaxLag
			t.Error("it was not forgotten")
		}
		if r.takes("k", "acorn") {
			t.Error("not kept")
		}
		if err := r.DelGroup(t.Context(), "a"); err == nil || !r.takes("k", "almond") {
			t.Errorf("it was not forgotten, %v", err)
		}
	})
}

// TestGroupsAreRefused checks that a store without groups, and a source that does not tell of them, are
// refused.
func TestGroupsAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer()
		_, err := near.New(plain{s}, new(hand), near.Options[string, string]{Groups: byLetter})
		if !errors.Is(err, cache.ErrArgument) || !strings.Contains(err.Error(), "Grouper") {
			t.Errorf("no store of groups: %v", err)
		}
		_, err = near.New(s, new(hand), near.Options[string, string]{Groups: byLetter, Prefix: "uncovered:"})
		if !errors.Is(err, cache.ErrArgument) || !strings.Contains(err.Error(), "does not tell") {
			t.Errorf("no source of groups: %v", err)
		}
		r := &rig{t: t, server: s, hand: new(hand)}
		if err := r.join(plain{s}, near.Options[string, string]{}).DelGroup(t.Context(), "a"); !errors.Is(err, cache.ErrArgument) {
			t.Errorf("DelGroup is %v", err)
		}
	})
}
