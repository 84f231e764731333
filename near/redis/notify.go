package redis

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	random "math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// An ear is a connection on which a master that does not track sends keyspace notifications. The
// master sends one while it runs the command that changes a key. So when the answer to a PING on
// the same connection comes, all changes before it have been told.
type ear struct {
	conn  net.Conn
	in    *inbox
	space string     // what is before a key in the name of a channel
	own   string     // the beginning of the keys of this ear, of which there is one at a time
	beat  int        // the number of the present key, which none had before
	beats bool       // false for a master without slots, which takes no keys
	heard chan heard // has room for an answer that nobody awaits, and for the end
}

// heard is what happened to the own key before the answer to a PING, or why none comes.
type heard struct {
	events []string
	err    error
}

const (
	beatKeys = "near:beat:"   // the beginning of the own keys of all
	beatTTL  = 24 * time.Hour // of an own key: with volatile-ttl a full server evicts first what ends soon
	setting  = "notify-keyspace-events"
	classes  = "Kg$lshzxetd" // of the setting; A stands for all but K
)

// newEar returns an ear of a node, which has said which server it is, with an own key; in a cluster
// the key is in one of the node's slots. The caller closes the ear, if there is one, also with an
// error.
func newEar(ctx context.Context, options *Options, n *node, server string, c *cluster, in *inbox) (*ear, error) {
	o := options.Client // the dialer may change its copy
	if o.SelectDB != 0 {
		if _, err := n.do(ctx, o.ConnWriteTimeout, []string{"SELECT", strconv.Itoa(o.SelectDB)}); err != nil {
			return nil, err
		}
	}
	conn, err := dialer(o)(ctx, n.addr, &o.Dialer, o.TLSConfig)
	if err != nil {
		return nil, err
	}
	e := &ear{
		conn: &watchedConn{conn, n.breaks}, in: in, heard: make(chan heard, 2),
		space: fmt.Sprintf("__keyspace@%d__:", o.SelectDB),
	}
	e.own, e.beats = ownKey(n.client, c, n.addr)
	info, err := identify(ctx, &o, conn)
	if err != nil {
		return e, err
	}
	if second, err := role(info); err != nil || second != server {
		return e, fmt.Errorf("%w: a second connection leads to another server (%v)", errTopology, err)
	}
	patterns := []string{"PSUBSCRIBE"}
	for _, prefix := range options.Prefixes {
		patterns = append(patterns, e.space+escapeGlob.Replace(prefix)+"*")
	}
	go e.listen()
	// The channels of the own keys are named one by one: an ACL allows no other patterns than it
	// names. If this fails, the next PING finds out.
	_, _ = io.WriteString(conn, request([]string{"SUBSCRIBE", e.space + e.short(), e.space + e.numbered(0), e.space + e.numbered(1)})+request(patterns))
	return e, e.test(ctx, n, o.ConnWriteTimeout)
}

var escapeGlob = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// ownKey returns the beginning of keys that nobody else has, in a slot of the master at addr if
// there is a cluster; false if that master has no slots.
func ownKey(client rueidis.Client, c *cluster, addr string) (key string, ok bool) {
	tag := random.N(1 << 20)
	if c != nil {
		i := slices.Index(c.masters, addr)
		if !c.has(i) {
			return beatKeys, false
		}
		for int(c.owner[slotOf(client, strconv.Itoa(tag))]) != i {
			tag++
		}
	}
	return fmt.Sprintf("%s{%d}:%s:", beatKeys, tag, rand.Text()), true
}

// listen puts changes into the inbox until the connection ends.
func (e *ear) listen() {
	defer e.conn.Close()
	in, now := bufio.NewReaderSize(e.conn, 1<<16), heard{}
	for {
		m, err := readMessage(in)
		if err != nil {
			e.heard <- heard{err: err}
			return
		}
		switch key, event := strings.TrimPrefix(m[len(m)-2], e.space), m[len(m)-1]; m[0] {
		case "pong":
			e.heard <- now
			now = heard{}
		case "message":
			now.events = append(now.events, event)
		case "pmessage":
			if event != "keymiss" && !isOurs(key) {
				e.in.changed(key)
			}
		}
	}
}

// ping returns what happened to the own keys since the last ping. It subscribes to the next own
// key, and ends the subscription to the one before.
func (e *ear) ping(ctx context.Context, timeout time.Duration) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("PING: no answer for %v", timeout))
	defer cancel()
	_ = e.conn.SetWriteDeadline(time.Now().Add(timeout))
	hear := request([]string{"SUBSCRIBE", e.space + e.numbered(e.beat+1)}) + request([]string{"UNSUBSCRIBE", e.space + e.numbered(e.beat-1)})
	_, _ = io.WriteString(e.conn, hear+request([]string{"PING"})) // if it fails, listen says why, or no answer comes
	select {
	case now := <-e.heard:
		return now.events, now.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// touch returns the commands of a beat, which a full server accepts too. SMOVE gives the own key
// the next number: if another database, or an older state of this one, has come in its place by
// SWAPDB, it has no key with the present number. PEXPIRE returns whether the key is there, and
// sends a notification, which must be heard.
func (e *ear) touch(timeout time.Duration) [][]string {
	if e == nil || !e.beats {
		return nil
	}
	before := e.key()
	e.beat++
	return [][]string{{"SMOVE", before, e.key(), "x"}, {"PEXPIRE", e.key(), lasting(timeout)}}
}

func (e *ear) key() string { return e.numbered(e.beat) }

func (e *ear) numbered(beat int) string { return e.own + strconv.Itoa(beat) }

// short returns an own key that expires at once, for a test of what is heard.
func (e *ear) short() string { return e.own + "short" }

// make returns the commands that make the own key, of the present number.
func (e *ear) make(timeout time.Duration) [][]string {
	return [][]string{{"SADD", e.key(), "x"}, {"PEXPIRE", e.key(), lasting(timeout)}}
}

// forget removes the own key, if the server still answers.
func (e *ear) forget(n *node) {
	if e.beats {
		_, _ = n.do(context.Background(), 100*time.Millisecond, []string{"DEL", e.key()})
	}
}

// lasting returns the TTL of an own key that is touched again within timeout.
func lasting(timeout time.Duration) string {
	return strconv.FormatInt((beatTTL + timeout).Milliseconds(), 10)
}

// confirm returns an error unless the beat with these replies is heard. A key that is gone was
// lost with others (FLUSHALL, SWAPDB), which the server does not tell.
func (e *ear) confirm(ctx context.Context, n *node, timeout time.Duration, replies []rueidis.RedisResult) error {
	if len(replies) > 0 {
		kept, err := replies[1].AsInt64()
		if err != nil {
			return err
		}
		if kept == 0 {
			_, err := n.do(ctx, timeout, e.make(timeout)...)
			e.in.changedAll() // not before: what is lost between the two would not be told
			if err != nil {
				return err
			}
		}
	}
	events, err := e.ping(ctx, timeout)
	if err == nil && e.beats && !slices.Contains(events, "expire") {
		err = lacks("g")
	}
	return err
}

// test returns an error if the server does not tell all changes, as far as one can know: by its
// setting, if the server shows that, and by the own key.
func (e *ear) test(ctx context.Context, n *node, timeout time.Duration) error {
	missing, err := unset(ctx, n, timeout), error(nil)
	if missing == "" {
		missing, err = e.unheard(ctx, n, timeout)
	}
	if missing != "" {
		return lacks(missing)
	}
	return err
}

// unset returns the classes that the setting of the server lacks.
func unset(ctx context.Context, n *node, timeout time.Duration) string {
	replies, err := n.do(ctx, timeout, []string{"CONFIG", "GET", setting})
	if err != nil {
		return ""
	}
	of, err := replies[0].AsStrMap()
	flags, shown := of[setting]
	if err != nil || !shown {
		return ""
	}
	return strings.Map(func(class rune) rune {
		if strings.ContainsRune(flags, class) || class != 'K' && strings.Contains(flags, "A") {
			return -1
		}
		return class
	}, classes)
}

// unheard returns the classes that are not heard of when an own key is set and expires.
func (e *ear) unheard(ctx context.Context, n *node, timeout time.Duration) (missing string, err error) {
	if _, err = e.ping(ctx, timeout); err != nil { // the server may take the subscriptions later than what follows
		return "", err
	}
	if e.beats {
		err = e.expire(ctx, n, timeout)
	}
	if err != nil {
		return "", err
	}
	events, err := e.ping(ctx, timeout)
	for event, class := range map[string]string{"set": "$", "expire": "g", "expired": "x"} {
		if err == nil && e.beats && !slices.Contains(events, event) {
			missing += class
		}
	}
	return missing, err
}

// expire lets an own key expire, and makes the one of the beats.
func (e *ear) expire(ctx context.Context, n *node, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := n.do(ctx, timeout, []string{"SET", e.short(), "", "PX", "1"}); err != nil {
		return err
	}
	for left := int64(0); left != -2; { // PTTL of a key that is gone
		sleep(ctx, 2*time.Millisecond)
		replies, err := n.do(ctx, timeout, []string{"PTTL", e.short()})
		if err == nil {
			left, err = replies[0].AsInt64()
		}
		if err != nil {
			return err
		}
	}
	_, err := n.do(ctx, timeout, slices.Concat(e.make(timeout), e.touch(timeout))...)
	return err
}

func lacks(missing string) error {
	return fmt.Errorf("%w, and %s lacks %q: want an administrator to run CONFIG SET %s KA, or the same in the parameter group of a managed service", ErrNoTracking, setting, missing, setting)
}
