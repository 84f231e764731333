package near

import (
	"context"
	"strings"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Values belong to groups, by Options.Groups. A group has a generation, under a key of the store
// that is watched like others, and a value in the store says which generations its groups
// had: it counts only while they still have those. So DelGroup writes one key, however many
// members there are, and in whatever servers they are. Memory knows its members, and drops
// them when it is told that the key of their group has changed.
//
// What remains is a load under way when its group gets a new generation. Generations have
// numbers, from one counter: a load reads it before it fetches, and is not stored if the
// generation of a group that it turns out to belong to is later.

// A Grouper is a [Leaser] that keeps the Groups of items, for Options.Groups.
type Grouper interface {
	Leaser

	// Next returns a number that is greater than all that it has returned for this key,
	// also if the store has lost the key meanwhile, and stores it there in decimal.
	Next(ctx context.Context, key string) (int64, error)

	// Add stores a Found item if the key is missing, in one atomic step, and returns what the
	// key has then.
	Add(ctx context.Context, key string, item Item) (Item, error)

	// Drop removes a Found item, with the lease on it, if the key still has one with these
	// Groups, in one atomic step.
	Drop(ctx context.Context, key string, groups []Membership) error
}

// A Membership says that an item belongs to a group, and which generation the group had when the
// item was stored. Both are any bytes.
type Membership struct{ Group, Generation string }

// DelGroup removes all values that belong to groups by Options.Groups, from the store and from
// memory, as Del does: callers in this process that ask for one after DelGroup has returned get
// the result of a later fetch, and those in other instances at most MaxLag later. Loads under
// way whose values turn out to belong to a group are not stored, nor may later callers share
// them. It costs one change for each group and one more, however many members there are. After
// an error some groups may still have their values: call DelGroup again.
//
// What is in the store is hidden at once, and removed when it is asked for or its TTL ends.
// Values that instances without the option Groups have stored belong to no group. Nor does a "not
// found" or an error: if rows have come into being, Del their keys. DelGroup works in instances
// without the option, too.
func (c *Cache[K, V]) DelGroup(ctx context.Context, groups ...string) error {
	if len(groups) == 0 {
		return nil
	}
	if c.grouper == nil {
		return errNoGrouper
	}
	defer func() {
		for _, group := range groups {
			c.local.groups.end(group, func(key K) { c.forget(key) })
		}
		c.local.turns.forgetAll()
	}()
	return c.tell(ctx, func(ctx context.Context) error {
		number, err := c.grouper.Next(ctx, c.counter())
		if err != nil {
			return err
		}
		return together(groups, func(group string) error {
			return c.store.Set(ctx, c.groupKey(group), c.generationItem(newGeneration(number)))
		})
	})
}

var errNoGrouper = argumentError("near: the store keeps no groups: want a Grouper, such as that of near/redis")

// The keys of groups follow the Prefix, and begin with what no other key should begin with.
const (
	groupMark   = "\x00near\x00@"
	counterMark = "\x00near\x00#"
)

func (c *Cache[K, V]) groupKey(group string) string { return c.local.prefix + groupMark + group }

func (c *Cache[K, V]) counter() string { return c.local.prefix + counterMark }

// groups are what memory knows of groups. A nil *groups knows none.
type groups[K comparable] struct {
	members     members[K]
	generations *cache.Cache[string, generation] // kept true by the source, as values are
}

// mostGenerations bounds what is known of generations.
const mostGenerations = 100_000

func newGroups[K comparable]() *groups[K] {
	return &groups[K]{generations: cache.Must(cache.Options[string, generation]{Limit: mostGenerations, Unlisted: true})}
}

// told drops the members of a group if a key that has changed, without its prefix, is that of one,
// and reports whether there is nothing else to do about that key.
func (g *groups[K]) told(key string, drop func(K)) bool {
	if g == nil {
		return false
	}
	if group, ok := strings.CutPrefix(key, groupMark); ok {
		g.end(group, drop)
		return true
	}
	return key == counterMark // it changes with each group
}

// end drops the members of a group, and loads under way.
func (g *groups[K]) end(group string, drop func(K)) {
	g.generations.Del(group) // first: a load that begins after it reads the new one
	for _, key := range g.members.leave(group) {
		drop(key)
	}
}

// forgetGenerations has loads that begin from now on ask the store for generations.
func (g *groups[K]) forgetGenerations() {
	if g != nil && g.generations.Len() > 0 {
		g.generations.Clear()
	}
}

func (g *groups[K]) close(ctx context.Context) error {
	if g == nil {
		return nil
	}
	return g.generations.Close(ctx)
}

// join notes that a key which is being loaded belongs to groups.
func (c *Cache[K, V]) join(key K, names []string) {
	if len(names) == 0 {
		return
	}
	l := c.local
	for _, one := range l.groups.members.join(key, names, l.cache.Len()+l.recent.cache.Len()) {
		if one.key == key || l.has(one.key) {
			l.groups.members.keep(one)
		} else {
			l.groups.members.sweep(one)
			l.drop(one.key)
		}
	}
}

// has reports whether there is anything in memory of a key.
func (l *Local[K, V]) has(key K) bool {
	if _, ok := l.cache.Peek(key); ok {
		return true
	}
	_, ok := l.recent.cache.Peek(key)
	return ok
}
