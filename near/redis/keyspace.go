package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/redis/rueidis"
)

// A keyspace tells of the changes of one server that cannot track, by its keyspace notifications. These
// come in the order of the changes, on one connection, but on that nothing can be asked, and of two
// things the server does not tell: FLUSHALL and the like, and that it has stopped to tell.
//
// So each question hands on a baton: RENAME gives the key of this watch the other of its two names. Its
// own notification comes after those of all changes before it. If there is no such key, the database
// was emptied, or swapped for another one. And a server that is busy, or a replica, refuses RENAME. A
// full one does not.
type keyspace struct {
	*subscriber
	member  *member // that is asked
	in      *near.Inbox
	channel string    // the beginning of the channels; the key follows
	baton   [2]string // the names of the key
	at      int       // which of them it has

	heard chan string   // the names that the key got, as the server told
	ended chan struct{} // closed when the connection has ended
	why   error         // set before ended is closed
}

const (
	watchPrefix = "pinwheel:watch:"        // of keys that are handed on
	batonLife   = "600000"                 // milliseconds until one is gone that nobody hands on
	setting     = "notify-keyspace-events" // of the server
)

// needed are the kinds of notifications without which a change may go untold: by key, generic commands,
// strings, lists, sets and sorted sets that replace a string, expiry, and eviction.
const needed = "Kg$lszxe"

var errSilent = fmt.Errorf("the server tells of no changes: want an administrator to run CONFIG SET %s KA", setting)

// joinKeyspace connects to the server of a member. It returns when that has told that the key was stored
// and handed on.
func (r *Redis) joinKeyspace(ctx context.Context, m *member, in *near.Inbox) (*keyspace, error) {
	o := r.options.Client
	name := watchPrefix + tagIn(m.slots) + rand.Text()
	k := &keyspace{
		member: m, in: in, channel: fmt.Sprintf("__keyspace@%d__:", o.SelectDB), baton: [2]string{name + ":0", name + ":1"},
		heard: make(chan string, 8), ended: make(chan struct{}),
	}
	var patterns []string
	for _, prefix := range r.options.Prefixes {
		patterns = append(patterns, k.channel+globEscaper.Replace(prefix)+"*")
	}
	var err error
	if k.subscriber, err = dialSubscriber(ctx, o, m.addr, patterns, k.channel+k.baton[0], k.channel+k.baton[1]); err != nil {
		return nil, err
	}
	go k.listen()
	if err = k.begin(ctx, o.ConnWriteTimeout); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// begin finds out whether the server tells of changes.
func (k *keyspace) begin(ctx context.Context, timeout time.Duration) error {
	if err := k.readSetting(ctx, timeout); err != nil {
		return err
	}
	err := k.store(ctx, timeout)
	if err == nil {
		err = k.handOn(ctx, timeout)
	}
	if errors.Is(err, errUnheard) {
		return fmt.Errorf("%w (%w)", errSilent, err)
	}
	return err
}

// readSetting has the question of the member ask for the setting too, if the user may know it. If not, all
// that is known is that the server tells of the baton.
func (k *keyspace) readSetting(ctx context.Context, timeout time.Duration) error {
	get := []string{"CONFIG", "GET", setting}
	replies, err := k.member.do(ctx, timeout, get)
	if _, refused := rueidis.IsRedisErr(errors.Unwrap(err)); refused {
		return nil
	}
	if err != nil {
		return err
	}
	read := k.member.read
	k.member.question = append(k.member.question, get)
	k.member.read = func(replies []rueidis.RedisResult) (string, error) {
		if err := tellsEnough(replies[len(replies)-1]); err != nil {
			return "", err
		}
		return read(replies)
	}
	return tellsEnough(replies[0])
}

// tellsEnough reads the setting of a server.
func tellsEnough(reply rueidis.RedisResult) error {
	settings, err := reply.AsStrMap()
	if err != nil {
		return err
	}
	has := strings.Replace(settings[setting], "A", "g$lszxe", 1)
	for _, kind := range needed {
		if !strings.ContainsRune(has, kind) {
			return fmt.Errorf("%w: that has %q now", errSilent, settings[setting])
		}
	}
	return nil
}

// listen puts what is told into the inbox, until the connection ends.
func (k *keyspace) listen() {
	defer k.member.hangUp() // the two connections are one
	defer close(k.ended)
	for {
		m, err := k.next()
		if err != nil {
			k.why = err
			return
		}
		key, _ := strings.CutPrefix(m.channel, k.channel)
		switch {
		case !m.exact:
			tell(k.in, key)
		case m.text == "rename_to", m.text == "set":
			select {
			case k.heard <- key:
			default: // it is not ours alone
			}
		}
	}
}

// ask hands the key on. If it is gone, anything may have changed.
func (k *keyspace) ask(ctx context.Context, timeout time.Duration) error {
	err := k.handOn(ctx, timeout)
	if errors.Is(err, errFlushed) {
		if err = k.store(ctx, timeout); err == nil {
			k.in.Flushed() // after it was stored: then it may go again
		}
	}
	return err
}

var (
	errFlushed = errors.New("the key of this watch is gone")
	errUnheard = errors.New("no keyspace notification came")
)

// handOn gives the key its other name, and returns when the server has told of it.
func (k *keyspace) handOn(ctx context.Context, timeout time.Duration) error {
	from, to := k.baton[k.at], k.baton[1-k.at]
	_, err := k.member.do(ctx, timeout, []string{"RENAME", from, to}, []string{"PEXPIRE", to, batonLife})
	if said, ok := rueidis.IsRedisErr(errors.Unwrap(err)); ok && strings.Contains(said.Error(), "no such key") {
		return errFlushed
	}
	if err != nil {
		return err
	}
	k.at = 1 - k.at
	return k.await(ctx, to, timeout)
}

// store stores the key, and returns when the server has told of it.
func (k *keyspace) store(ctx context.Context, timeout time.Duration) error {
	name := k.baton[k.at]
	if _, err := k.member.do(ctx, timeout, []string{"SET", name, "", "PX", batonLife}); err != nil {
		return err
	}
	return k.await(ctx, name, timeout)
}

// await waits until the server has told that the key got a name.
func (k *keyspace) await(ctx context.Context, name string, timeout time.Duration) error {
	late := time.NewTimer(timeout)
	defer late.Stop()
	for {
		select {
		case got := <-k.heard:
			if got == name {
				return nil
			}
		case <-k.ended:
			return k.why
		case <-late.C:
			return fmt.Errorf("%w for %v", errUnheard, timeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tell puts keys that have changed into the inbox, but for those of watches.
func tell(in *near.Inbox, keys ...string) {
	in.Changed(slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, watchPrefix) })...)
}
