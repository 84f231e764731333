package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"
)

// An echo receives the messages that this instance published to itself.
type echo struct {
	of      string // Options.Channel, on which all instances publish keys
	channel string // the own one
	heard   chan string
}

// subscribe is a session with Options.Channel. It subscribes to that channel and to one of
// its own. A message that it publishes on its own comes back on the same connection, after
// all messages published before; so it vouches for all changes before it was sent. The first
// one also confirms the subscription.
func (s *source) subscribe(ctx context.Context, in *inbox, maxLag time.Duration) error {
	t, err := locate(ctx, s.options, s.clients.masters())
	if err != nil {
		return err
	}
	defer t.close()
	if t.cluster != nil {
		return errChannelInCluster
	}
	ctx, leave, err := s.sessions.enter(ctx, &session{topology: t}, maxLag)
	defer leave()
	if err != nil {
		return err
	}
	c, err := s.clients.use()
	if err != nil {
		return err
	}
	defer s.clients.done(c)
	e := echo{of: s.options.Channel, channel: s.options.Channel + ":" + rand.Text(), heard: make(chan string, 8)}
	v := vouched{asOf: make([]time.Time, 1, 2), in: in}
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return e.listen(ctx, c, in) })
	if t.sentinel != nil {
		v.asOf = append(v.asOf, time.Time{})
		running.Go(func() error {
			return beat(ctx, maxLag, t.sentinel.broken, t.sentinel.ask, func(asOf time.Time) { v.set(1, asOf) })
		})
	}
	running.Go(func() error {
		sent, err := e.hear(ctx, c, s.options.Client.ConnWriteTimeout)
		if err == nil {
			in.restored(sent)
		}
		for err == nil {
			v.set(0, sent)
			sleep(ctx, maxLag/3)
			sent, err = e.hear(ctx, c, maxLag)
		}
		return err
	})
	_ = running.Wait() // the first error is the cause, unless something else ended the session
	return fmt.Errorf("near/redis: channel %q: %w", s.options.Channel, context.Cause(ctx))
}

var errChannelInCluster = errors.New("near/redis: Options.Channel is set, but servers of a cluster lose messages without notice: want no Channel, for tracking")

// listen puts published keys into the inbox.
func (e echo) listen(ctx context.Context, c *client, in *inbox) error {
	command := c.B().Subscribe().Channel(e.of, e.channel).Build()
	err := c.Receive(ctx, command, func(m rueidis.PubSubMessage) {
		if m.Channel != e.channel {
			if !isOurs(m.Message) {
				in.changed(m.Message)
			}
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
	return err
}

// hear publishes until a message of its own comes back, and returns when the first was sent.
// It repeats the message, as the subscription may begin after the first one.
func (e echo) hear(ctx context.Context, c *client, timeout time.Duration) (sent time.Time, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("nothing came back on channel %q for %v", e.channel, timeout))
	defer cancel()
	again := time.NewTicker(min(timeout/4, lastPause))
	defer again.Stop()
	sent, nonce := time.Now(), rand.Text()
	for {
		if err := c.Do(ctx, c.B().Publish().Channel(e.channel).Message(nonce).Build()).Error(); err != nil {
			return sent, fmt.Errorf("publishing: %w", err)
		}
		for waiting := true; waiting; {
			select {
			case heard := <-e.heard:
				if heard == nonce {
					return sent, stillMaster(ctx, c)
				}
			case <-again.C:
				waiting = false
			case <-ctx.Done():
				return sent, context.Cause(ctx)
			}
		}
	}
}

// stillMaster returns an error if the server has become a replica. Then others write to another
// server, and their messages go there.
func stillMaster(ctx context.Context, c *client) error {
	info, err := c.Do(ctx, c.B().Info().Section("replication").Build()).ToString()
	if _, refused := rueidis.IsRedisErr(err); refused { // by an odd server
		return nil
	}
	if err == nil {
		_, err = role(info)
	}
	return err
}
