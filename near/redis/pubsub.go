package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"
)

// An echo receives the messages that this instance published to itself.
type echo struct {
	channel string
	heard   chan string
}

// subscribe is a session with Options.Channel. It subscribes to that channel and to one of
// its own. A message that it publishes on its own comes back on the same connection, after
// all messages published before; so it vouches for all changes before it was sent. The first
// one also confirms the subscription.
func (r *Redis) subscribe(ctx context.Context, in *near.Inbox, mine *watch, maxLag time.Duration) error {
	t, err := r.locate(ctx)
	if err != nil {
		return err
	}
	defer t.close()
	members, err := r.joinAll(ctx, t, in)
	defer closeAll(members)
	if err != nil {
		return err
	}
	w := newWatched(members)
	end, err := r.begin(ctx, t, w)
	if err != nil {
		return err
	}
	defer end()
	d, err := r.use()
	if err != nil {
		return err
	}
	defer r.done(d)
	e := echo{channel: r.options.Channel + ":" + rand.Text(), heard: make(chan string, 8)}
	session, ctx := errgroup.WithContext(ctx)
	session.Go(func() error { return r.listen(ctx, d, e, in) })
	session.Go(func() error {
		if _, err := r.hear(ctx, d, e, r.options.Client.ConnWriteTimeout); err != nil {
			return err
		}
		also, err := mine.enlist(ctx)
		if err != nil {
			return err
		}
		restore(in)
		return t.follow(ctx, r.options.Client, members, w, in, maxLag, append(also, func(ctx context.Context, vouch func(time.Time)) error {
			for {
				sent, err := r.hear(ctx, d, e, maxLag)
				if err != nil {
					return err
				}
				vouch(sent)
				sleep(ctx, maxLag/3)
			}
		})...)
	})
	return session.Wait()
}

var errChannelInCluster = errors.New("near/redis: Options.Channel is set, but servers of a cluster lose messages without notice: want no Channel, for tracking")

// listen puts published keys into the inbox.
func (r *Redis) listen(ctx context.Context, d *data, e echo, in *near.Inbox) error {
	command := d.B().Subscribe().Channel(r.options.Channel, e.channel).Build()
	err := d.Receive(ctx, command, func(m rueidis.PubSubMessage) {
		if m.Channel != e.channel {
			in.Changed(m.Message)
			return
		}
		select {
		case e.heard <- m.Message:
		default: // eight are unread
		}
	})
	if err == nil {
		err = errors.New("the subscription ended")
	}
	return fmt.Errorf("near/redis: channel %q: %w", r.options.Channel, err)
}

// hear publishes until a message of its own comes back, and returns when the first was sent.
// It repeats the message, as the subscription may begin after the first one.
func (r *Redis) hear(ctx context.Context, d *data, e echo, timeout time.Duration) (sent time.Time, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("near/redis: nothing came back on channel %q for %v", e.channel, timeout))
	defer cancel()
	again := time.NewTicker(timeout / 4)
	defer again.Stop()
	sent, nonce := time.Now(), rand.Text()
	for {
		if err := d.Do(ctx, d.B().Publish().Channel(e.channel).Message(nonce).Build()).Error(); err != nil {
			return sent, fmt.Errorf("near/redis: publishing: %w", err)
		}
		for waiting := true; waiting; {
			select {
			case heard := <-e.heard:
				if heard == nonce {
					return sent, nil
				}
			case <-again.C:
				waiting = false
			case <-ctx.Done():
				return sent, context.Cause(ctx)
			}
		}
	}
}
