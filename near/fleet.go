// This file has the fleet: who its instances are, and how one asks all others to forget what it has removed.

package near

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Fleet is a [Store] that also has lists, by which the instances of a service know each other, and that can remove
// all keys with a prefix. [Cache.Revoke], [Cache.DelPrefix] and [Cache.Clear] need one. A list is not among the keys of
// the store: the source tells nothing of it.
type Fleet interface {
	Store

	// Enroll has a member on a list until life from now on, by the clock of the store.
	Enroll(ctx context.Context, list, member string, life time.Duration) error

	// Withdraw takes a member off a list.
	Withdraw(ctx context.Context, list, member string) error

	// Members returns who is on a list, and for how long somebody always was: a list that the store loses is another
	// one when somebody is enrolled again. It is 0 if nobody is on it, and the longest Duration if the store loses none.
	Members(ctx context.Context, list string) (members []string, age time.Duration, err error)

	// DelPrefix removes all keys that begin with prefix, which may be empty, and ends the leases on them. It returns how
	// many it has removed, also with an error, after which it may not have removed all. It does not keep others from the
	// store for long at a time.
	DelPrefix(ctx context.Context, prefix string) (removed int, err error)
}

const (
	enrolledFor = 10 * time.Minute
	enrollEvery = 5 * time.Second
	enrollAgain = 100 * time.Millisecond      // after a failure; then pauses double
	enrollSoon  = enrollEvery + 3*time.Second // by when an instance of a list that was lost is on the new one

	answeredFor  = 10 * time.Second // an asker looks every longestPause
	answersTake  = time.Second      // at most, each call
	firstLook    = 500 * time.Microsecond
	longestPause = 20 * time.Millisecond
	maxAnswering = 256 // questions at once; others are not answered
)

// fleet has what a Cache knows of the instances. All have the list by their Prefix, whatever Schema they have.
//
// An instance asks the others by a question: a key beside those of the cache, of which their sources tell. Each reads
// it, forgets what it says, and then puts itself on the list of its answers. What it loads from then on is read after
// the question was asked. So it does not matter whether, and in which order, it hears of the removals themselves.
type fleet struct {
	store     Fleet // nil: the store is none
	list      string
	questions string // the beginning of their keys
	own       string // that of those of this instance
	self      string // this instance
	holds     time.Duration
	again     chan struct{} // not empty when the list may be lost
	ended     chan struct{} // closed when nobody enrolls this instance any more
	answering chan struct{} // full with maxAnswering
	leaving   chan struct{} // full while somebody waits for those
}

// A question says what to forget: keys of the store, and all that begin with prefixes.
type question struct{ Keys, Prefixes [][]byte } // not strings, which JSON changes if they are not UTF-8

func (f *fleet) init(store Store, prefix string, maxLag time.Duration) {
	of, ok := store.(Fleet)
	if !ok {
		return
	}
	host, _ := os.Hostname() // for people
	token, questions := rand.Text(), prefix+schemaMark+schemaMark
	*f = fleet{
		store: of, list: prefix, questions: questions, own: questions + token, holds: maxLag,
		self:  strconv.FormatInt(int64(maxLag), 10) + " " + host + " " + token,
		again: make(chan struct{}, 1), ended: make(chan struct{}),
		answering: make(chan struct{}, maxAnswering), leaving: make(chan struct{}, 1),
	}
}

// holdsOf returns for how long a member may serve what is removed meanwhile.
func holdsOf(member string) time.Duration {
	text, _, _ := strings.Cut(member, " ")
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return defaultMaxLag
	}
	return time.Duration(ns)
}

// certainly returns the time after which that of another machine, whose clock is slower, is over.
func certainly(d time.Duration) time.Duration { return d + max(d/50, 50*time.Millisecond) }

// joinFleet enrolls the instance before the cache is used, which takes answersTake at most. If that fails it is tried
// again in the background.
func (c *Cache[K, V]) joinFleet() {
	if c.fleet.store == nil {
		return
	}
	err := c.enroll()
	go c.stayEnrolled(err)
}

// enroll is not ended by Close: what the store does later would come after Withdraw.
func (c *Cache[K, V]) enroll() error {
	return c.askFleet(context.Background(), func(ctx context.Context) error {
		return c.fleet.store.Enroll(ctx, c.fleet.list, c.fleet.self, enrolledFor)
	})
}

// askFleet calls the store for a list, which no breaker is for.
func (c *Cache[K, V]) askFleet(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, min(cmp.Or(c.timeout, answersTake), answersTake))
	defer cancel()
	if err := f(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	return nil
}

// stayEnrolled enrolls the instance again and again, until the cache is closed. err is that of the first time.
func (c *Cache[K, V]) stayEnrolled(err error) {
	defer close(c.fleet.ended)
	f, pause := c.local.failures, enrollAgain
	for {
		switch {
		case err == nil:
			f.takeBack(&f.unlisted, "near: others know of this instance again")
			pause = enrollEvery
		case errors.Is(err, ErrRefused):
			pause = enrollEvery
		case pause == enrollEvery:
			pause = enrollAgain
		default:
			pause = min(2*pause, time.Second)
		}
		wait(c.local.open, enrollAgain, nil) // a source may say again and again that all may have changed
		wait(c.local.open, pause-enrollAgain, c.fleet.again)
		if c.local.open.Err() != nil {
			return
		}
		if err = c.enroll(); err != nil && c.local.open.Err() == nil {
			f.warn(&f.unlisted, "near: others may not know of this instance: "+
				"then their Revoke, DelPrefix and Clear do not wait for it", err)
		}
	}
}

// relist is called when the source says that any key may have changed: lists may be lost too.
func (c *Cache[K, V]) relist() {
	select {
	case c.fleet.again <- struct{}{}:
	default:
	}
}

// leaveFleet takes a closed cache off the list, as it serves nothing any more.
func (c *Cache[K, V]) leaveFleet(ctx context.Context) error {
	if c.fleet.store == nil {
		return nil
	}
	select {
	case <-c.fleet.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case c.fleet.leaving <- struct{}{}:
		defer func() { <-c.fleet.leaving }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for range maxAnswering { // nobody begins to answer, as the source is not watched
		select {
		case c.fleet.answering <- struct{}{}:
			defer func() { <-c.fleet.answering }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_ = c.askFleet(ctx, func(ctx context.Context) error { // its time ends by itself
		return c.fleet.store.Withdraw(ctx, c.fleet.list, c.fleet.self)
	})
	return nil
}

// asked is called when the question with a key was put, or has ended.
func (c *Cache[K, V]) asked(text string) {
	if strings.HasPrefix(text, c.fleet.own) {
		return
	}
	select {
	case c.fleet.answering <- struct{}{}:
		go func() {
			defer func() { <-c.fleet.answering }()
			c.answerTo(text)
		}()
	default: // it is waited for
	}
}

// answerTo does what a question says, and says so.
func (c *Cache[K, V]) answerTo(text string) {
	var items []Item
	var q question
	err := c.askFleet(c.local.open, func(ctx context.Context) (err error) {
		items, err = c.store.Get(ctx, text)
		return err
	})
	if err != nil || items[0].State != Found || json.Unmarshal(items[0].Value, &q) != nil {
		return // its time is over, or it is not ours
	}
	c.forget(q)
	_ = c.askFleet(c.local.open, func(ctx context.Context) error {
		return c.fleet.store.Enroll(ctx, text, c.fleet.self, answeredFor)
	})
}

// forget drops what a question names from memory. Loads of it that are under way are not kept, and nobody joins them.
func (c *Cache[K, V]) forget(q question) {
	w := watcher[K, V]{c.local}
	for _, text := range q.Keys {
		w.changed(string(text))
	}
	if len(q.Prefixes) > 0 {
		w.ChangedIf(func(key string) bool {
			return slices.ContainsFunc(q.Prefixes, func(prefix []byte) bool { return strings.HasPrefix(key, string(prefix)) })
		})
	}
}

// tellAll returns when no instance can serve what a question names, which was just removed from the store: when all
// have answered, or the time is over for which those that have not may serve it.
func (c *Cache[K, V]) tellAll(ctx context.Context, q question) error {
	ctx, end := c.span(ctx, Span{Name: "fleet", Keys: len(q.Keys)})
	how := SpanEnd{Err: errNotReturned}
	defer func() { end(how) }()
	answered, err := c.askAll(ctx, q)
	how.Err = err
	switch {
	case answered:
		how.Outcome = "answered"
	case err == nil:
		how.Outcome = "waited"
	}
	return err
}

// askAll is tellAll, and reports whether all have answered.
func (c *Cache[K, V]) askAll(ctx context.Context, q question) (answered bool, err error) {
	removed := time.Now()
	c.forget(q)
	members, age, err := c.members(ctx) // after the removal: who enrolls later reads later
	if err != nil {
		return false, err
	}
	silent, listed := map[string]time.Duration{}, false
	for _, member := range members {
		if member == c.fleet.self {
			listed = true
		} else {
			silent[member] = holdsOf(member)
		}
	}
	most := certainly(max(c.fleet.holds, longest(silent)))
	// The list may lack somebody who was on one that is lost, or that another server has.
	if !listed || age < math.MaxInt64 && (age < most+enrollSoon || c.local.link.openFor() < most) {
		return false, c.waitFor(ctx, time.Until(removed.Add(most)))
	}
	text := c.fleet.own + rand.Text()
	if len(silent) > 0 && !c.put(ctx, text, q, 2*most) {
		return false, c.waitFor(ctx, time.Until(removed.Add(most)))
	}
	for pause := firstLook; len(silent) > 0; pause = min(2*pause, longestPause) {
		left := time.Until(removed.Add(certainly(longest(silent))))
		if left <= 0 {
			c.local.failures.warn(&c.local.failures.unanswered,
				"near: an instance did not answer, so it was waited until it can serve nothing that was removed",
				fmt.Errorf("no answer of %q", slices.Collect(maps.Keys(silent))))
			return false, nil
		}
		if err := c.waitFor(ctx, min(pause, left)); err != nil {
			return false, err
		}
		within, cancel := context.WithTimeout(ctx, left)
		_ = c.askFleet(within, func(ctx context.Context) error { // its failure is that of those who cannot answer
			answers, _, err := c.fleet.store.Members(ctx, text)
			for _, member := range answers {
				delete(silent, member)
			}
			return err
		})
		cancel()
	}
	_ = c.askFleet(ctx, func(ctx context.Context) error { return c.store.Del(ctx, text) }) // or it ends by itself
	return true, nil
}

// members returns who is on the list of instances, and its age. If all of it may have been lost a moment ago, it waits
// until those that are there are on it again: one of them may have the longest MaxLag.
func (c *Cache[K, V]) members(ctx context.Context) (members []string, age time.Duration, err error) {
	read := func() time.Duration {
		var now time.Duration
		err = c.askFleet(ctx, func(ctx context.Context) (err error) {
			members, now, err = c.fleet.store.Members(ctx, c.fleet.list)
			return err
		})
		return now
	}
	if age = read(); err == nil && age < enrollSoon {
		if err := c.waitFor(ctx, enrollSoon-max(age, 0)); err != nil { // the clock of the store may have been set
			return nil, 0, err
		}
		read()
	}
	if err != nil && ctx.Err() == nil {
		return nil, 0, fmt.Errorf("near: removed, but who else has it is not known: %w", err)
	}
	return members, age, c.waitFor(ctx, 0)
}

// longest returns the longest time for which one of the members may serve what was removed.
func longest(members map[string]time.Duration) (d time.Duration) {
	for _, holds := range members {
		d = max(d, holds)
	}
	return d
}

// put puts a question, and reports whether the store has it.
func (c *Cache[K, V]) put(ctx context.Context, text string, q question, life time.Duration) bool {
	data, err := json.Marshal(q)
	return err == nil && c.askFleet(ctx, func(ctx context.Context) error {
		return c.store.Set(ctx, text, Item{State: Found, Value: data, TTL: life})
	}) == nil
}

func (c *Cache[K, V]) waitFor(ctx context.Context, d time.Duration) error {
	wait(ctx, d, nil)
	if ctx.Err() != nil {
		return fmt.Errorf("near: removed, but other instances may serve it until MaxLag later: %w", context.Cause(ctx))
	}
	return nil
}

// noFleet returns the error of a method that needs a Fleet.
func noFleet(method string) error {
	return argumentError("near: " + method + " of a cache whose store is no Fleet: want one, such as that of near/redis, or Del")
}
