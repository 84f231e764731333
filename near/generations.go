package near

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A generation of a group begins with a DelGroup, or when a member is to be stored and the group
// has none: also if the store has lost it. No two are the same. The zero generation means that
// there is none.
type generation struct {
	number int64  // what the counter had when it began
	id     string // differs from that of all others
}

func newGeneration(number int64) generation {
	return generation{number, strconv.FormatUint(rand.Uint64(), 36)}
}

// String returns what the store has of a generation.
func (g generation) String() string {
	if g.id == "" {
		return ""
	}
	return strconv.FormatInt(g.number, 10) + "." + g.id
}

// parseGeneration returns the zero generation for what is none.
func parseGeneration(item Item) generation {
	number, id, _ := strings.Cut(string(item.Value), ".")
	n, err := strconv.ParseInt(number, 10, 64)
	if item.State != Found || err != nil || id == "" {
		return generation{}
	}
	return generation{n, id}
}

// generationLives is how many lifetimes of a value a generation lives. When it ends, its members
// do; so seldom that does not count.
const generationLives = 16

func (c *Cache[K, V]) generationItem(g generation) Item {
	item := Item{State: Found, Value: []byte(g.String())}
	if c.expire > 0 {
		item.TTL = min(c.expire+c.grace, longestLife) * generationLives
	}
	return item
}

const longestLife = 10 * 365 * 24 * time.Hour / generationLives

// generationsOf returns the generations of groups: those in memory, while the source vouches for
// them, and otherwise those of the store.
func (c *Cache[K, V]) generationsOf(ctx context.Context, groups []string) (map[string]generation, error) {
	if !c.local.link.serves() {
		return c.readGenerations(ctx, groups)
	}
	return c.local.groups.generations.TakeMany(ctx, groups, c.readGenerations)
}

// readGenerations reads those of the store.
func (c *Cache[K, V]) readGenerations(ctx context.Context, groups []string) (map[string]generation, error) {
	keys := make([]string, len(groups))
	for i, group := range groups {
		keys[i] = c.groupKey(group)
	}
	var items []Item
	err := c.ask(ctx, func(ctx context.Context) (err error) {
		items, err = c.store.Get(ctx, keys...)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make(map[string]generation, len(groups))
	for i, group := range groups {
		all[group] = parseGeneration(items[i])
	}
	return all, nil
}

// outdated reports which of several items belong to a group that has another generation by now, and
// notes the groups of the others.
func (c *Cache[K, V]) outdated(ctx context.Context, keys []K, items []Item) (old []bool, err error) {
	old = make([]bool, len(items))
	var groups []string
	for _, item := range items {
		groups = append(groups, namesOf(item)...)
	}
	if len(groups) == 0 {
		return old, nil
	}
	current, err := c.generationsOf(ctx, groups)
	if err != nil {
		return nil, err
	}
	// What is in memory may be older than the item.
	if unlike := unlikeThose(items, current); len(unlike) > 0 {
		for _, group := range unlike {
			c.local.groups.generations.Del(group)
		}
		later, err := c.generationsOf(ctx, unlike)
		if err != nil {
			return nil, err
		}
		for group, g := range later {
			current[group] = g
		}
	}
	for i, item := range items {
		if old[i] = len(unlikeThose(items[i:i+1], current)) > 0; !old[i] {
			c.join(keys[i], namesOf(item))
		}
	}
	return old, nil
}

func namesOf(item Item) (names []string) {
	for _, m := range item.Groups {
		names = append(names, m.Group)
	}
	return names
}

// unlikeThose returns the groups of items that have other generations than the items say.
func unlikeThose(items []Item, current map[string]generation) (groups []string) {
	for _, item := range items {
		for _, m := range item.Groups {
			if g := current[m.Group]; g.id == "" || g.String() != m.Generation {
				groups = append(groups, m.Group)
			}
		}
	}
	return groups
}

// onlyCurrent returns an item, or a Missing one if it is outdated.
func (c *Cache[K, V]) onlyCurrent(ctx context.Context, key K, item Item) (Item, error) {
	old, err := c.outdated(ctx, []K{key}, []Item{item})
	if err != nil || old[0] {
		return Item{State: Missing}, err
	}
	return item, nil
}

// obtainCurrent is obtain, but removes an outdated item, and obtains once more. If there is another
// one then, the item is Missing, without a Token.
func (c *Cache[K, V]) obtainCurrent(ctx context.Context, key K, text string) (item Item, began time.Time, err error) {
	if item, began, err = c.obtain(ctx, key, text); err != nil || len(item.Groups) == 0 {
		return item, began, err
	}
	old, err := c.outdated(ctx, []K{key}, []Item{item})
	if err != nil || !old[0] {
		return item, began, err
	}
	if err = c.dropOutdated(ctx, text, item); err != nil {
		return item, began, err
	}
	if item, began, err = c.obtain(ctx, key, text); err != nil {
		return item, began, err
	}
	item, err = c.onlyCurrent(ctx, key, item)
	return item, began, err
}

// dropOutdated removes an item that is outdated from the store, unless others have done so.
func (c *Cache[K, V]) dropOutdated(ctx context.Context, text string, item Item) error {
	return c.ask(ctx, func(ctx context.Context) error {
		if c.grouper == nil {
			return c.store.Del(ctx, text)
		}
		return c.grouper.Drop(ctx, text, item.Groups)
	})
}

// A start is when a fetch begins: by the clock, and by the counter of generations.
type start struct {
	at     time.Time
	number int64 // what it had, or later; unknown if it could not be read
}

const unknown = -1

// start returns that of a fetch that begins now. leased says that its result may be stored.
func (c *Cache[K, V]) start(ctx context.Context, leased bool) start {
	s := start{number: unknown}
	if c.grouped && leased {
		if number, err := c.latest(ctx); err == nil {
			s.number = number
		}
	}
	s.at = time.Now()
	return s
}

// latest returns what the counter of generations has.
func (c *Cache[K, V]) latest(ctx context.Context) (number int64, err error) {
	item, err := c.get(ctx, c.counter())
	if err != nil {
		return 0, err
	}
	if number, err = strconv.ParseInt(string(item.Value), 10, 64); err == nil && item.State == Found {
		return number, nil
	}
	err = c.ask(ctx, func(ctx context.Context) (err error) {
		number, err = c.grouper.Next(ctx, c.counter())
		return err
	})
	return number, err
}

// errGroupChanged means that a value belongs to a group that was removed since its fetch began.
var errGroupChanged = errors.New("near: the group was removed while its member was loaded")

var errCounterUnread = errors.New("near: the counter of generations could not be read before the fetch")

// memberships returns the groups with their generations of a value that is to be stored, whose
// fetch began when the counter had number. A group without a generation gets one.
func (c *Cache[K, V]) memberships(ctx context.Context, groups []string, number int64) (all []Membership, err error) {
	if len(groups) == 0 {
		return nil, nil
	}
	if number == unknown {
		return nil, errCounterUnread
	}
	current, err := c.generationsOf(ctx, groups)
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		g := current[group]
		if g.id == "" {
			if g, err = c.beginGroup(ctx, group); err != nil {
				return nil, err
			}
		}
		if g.number > number {
			return nil, errGroupChanged
		}
		all = append(all, Membership{group, g.String()})
	}
	return all, nil
}

// beginGroup gives a group that has no generation one, and returns the one that it has then. Its
// number is read after the store had none: if one was lost since a load began, it is later.
func (c *Cache[K, V]) beginGroup(ctx context.Context, group string) (g generation, err error) {
	number, err := c.latest(ctx)
	if err != nil {
		return g, err
	}
	err = c.ask(ctx, func(ctx context.Context) error {
		item, err := c.grouper.Add(ctx, c.groupKey(group), c.generationItem(newGeneration(number)))
		if g = parseGeneration(item); err != nil || g.id != "" {
			return err
		}
		// Somebody has stored something else there.
		if number, err = c.grouper.Next(ctx, c.counter()); err != nil {
			return err
		}
		g = newGeneration(number)
		return c.store.Set(ctx, c.groupKey(group), c.generationItem(g))
	})
	c.local.groups.generations.Del(group)
	return g, err
}

// together calls f for each of several things at once, and returns the first error.
func together[T any](all []T, f func(T) error) error {
	errs := make([]error, len(all))
	var calls sync.WaitGroup
	for i, one := range all {
		calls.Go(func() { errs[i] = f(one) })
	}
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
