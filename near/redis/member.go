package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// A member is a node that is asked again and again whether the topology is unchanged. The
// question is that of beat, so the answer is as recent as what the connection vouches for.
type member struct {
	*node
	question [][]string
	read     func([]rueidis.RedisResult) (string, error) // the answer; it begins with what server returns
	answer   string                                      // to the first question
	ear      *ear                                        // nil where the node tracks, or is a Sentinel
}

func (m *member) close() {
	if m.ear != nil {
		m.ear.forget(m.node)
		m.ear.conn.Close()
	}
	m.node.close()
}

// server returns what the server calls its data.
func (m *member) server() string {
	id, _, _ := strings.Cut(m.answer, " ")
	return id
}

// ask sends the question. The first answer is kept, and any other is errTopology.
func (m *member) ask(ctx context.Context, timeout time.Duration) error {
	replies, err := m.do(ctx, timeout, slices.Concat(m.question, m.ear.touch(timeout))...)
	if err != nil {
		return err
	}
	answer, err := m.read(replies)
	if err != nil {
		return err
	}
	if m.answer == "" {
		m.answer = answer
	}
	if answer != m.answer {
		return fmt.Errorf("%w: %q, and now %q", errTopology, m.answer, answer)
	}
	if m.ear != nil {
		return m.ear.confirm(ctx, m.node, timeout, replies[len(m.question):])
	}
	return nil
}

// join connects to a master, with tracking or else an ear, and checks that it sees the cluster, if
// there is one, as c does.
func join(ctx context.Context, o *Options, c *cluster, addr string, in *inbox) (*member, error) {
	n, err := dialNode(ctx, o.Client, addr, o.Prefixes, func(keys []rueidis.RedisMessage) { push(in, keys) })
	refused := err
	if tracksNot(err) {
		n, err = dialNode(ctx, o.Client, addr, nil, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("near/redis: %s: %w", addr, watchError(o.Client.Username, err))
	}
	m := &member{node: n, question: [][]string{{"INFO", "replication"}}, read: readRole}
	if c != nil {
		m.question = append(m.question, []string{"CLUSTER", "INFO"})
		m.read = roleInCluster
	}
	if err = m.ask(ctx, o.Client.ConnWriteTimeout); err == nil && c != nil {
		// After the first answer: from now on a change of the topology changes the answer.
		err = m.agrees(ctx, o.Client.ConnWriteTimeout, c, false)
	}
	if err = watchError(o.Client.Username, err); err == nil && refused != nil {
		if m.ear, err = newEar(ctx, o, m.node, m.server(), c, in); err != nil {
			err = o.deafError(refused, err)
		}
	}
	if err != nil {
		m.close()
		return nil, fmt.Errorf("near/redis: %s: %w", addr, err)
	}
	return m, nil
}

// push puts what Redis sent into the inbox.
func push(in *inbox, messages []rueidis.RedisMessage) {
	if messages == nil { // FLUSHALL and the like
		in.changedAll()
		return
	}
	keys := make([]string, 0, len(messages))
	for i := range messages {
		key, err := messages[i].ToString()
		if err != nil {
			in.changedAll() // unexpected: not a key
			return
		}
		if !isOurs(key) {
			keys = append(keys, key)
		}
	}
	in.changed(keys...)
}

func closeAll(members []*member) {
	var closing sync.WaitGroup
	for _, m := range members {
		if m != nil {
			closing.Go(m.close)
		}
	}
	closing.Wait()
}
