package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/redis/rueidis"
)

// A counter is a watcher that counts, for its crowd.
type counter struct {
	crowd *crowd
	serve sync.Once
	up    *sync.WaitGroup
}

func (c *counter) Changed(keys ...string) {
	c.crowd.told.Add(int64(len(keys)))
	c.crowd.last.Store(time.Now().UnixNano())
}
func (c *counter) ChangedAll()       {}
func (c *counter) Current(time.Time) { c.serve.Do(c.up.Done) }
func (c *counter) Lost(error)        { c.crowd.lost.Add(1) }

// watchers measures the cost of watchers for Redis, by tracking and by publishing, and how
// many changes a watcher can receive.
func watchers(out io.Writer, server *redistest.Server, s scale) error {
	channels := []string{"", "changes"}
	fmt.Fprintf(out, "\n| watchers | by | Redis' processor time per write, µs | Redis' memory per watcher, KB | writes/s |\n|---:|---|---:|---:|---:|\n")
	for _, n := range append([]int{0}, s.watchers...) {
		for _, channel := range channels {
			if err := watched(out, server, n, channel, s.writes); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(out, "\n| one watcher, changed by | keys told/s | told | connections lost |\n|---|---:|---:|---:|\n")
	for _, channel := range channels {
		if err := capacity(out, server, channel, 10*s.writes); err != nil {
			return err
		}
	}
	return nil
}

// A crowd is n watchers of one Redis that count together.
type crowd struct {
	told     atomic.Int64 // keys
	last     atomic.Int64 // when, by UnixNano
	lost     atomic.Int64 // connections
	watching sync.WaitGroup
	stop     context.CancelFunc
	redis    *redis.Redis
}

func gather(server *redistest.Server, n int, channel string) (*crowd, error) {
	r, err := redis.New(context.Background(), redis.Options{
		Client:   rueidis.ClientOption{InitAddress: []string{server.Addr}, ConnWriteTimeout: 10 * time.Second, PipelineMultiplex: -1},
		Prefixes: []string{"users:"}, Channel: channel,
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &crowd{stop: stop, redis: r}
	var up sync.WaitGroup
	for range n {
		up.Add(1)
		w := &counter{crowd: c, up: &up}
		c.watching.Go(func() { r.Watch(ctx, w) })
	}
	up.Wait()
	return c, nil
}

func (c *crowd) close() {
	c.stop()
	c.watching.Wait()
	c.redis.Close()
}

// await waits until n keys have arrived, or for a while.
func (c *crowd) await(n int64) {
	for deadline := time.Now().Add(10 * time.Second); c.told.Load() < n && time.Now().Before(deadline); {
		time.Sleep(100 * time.Microsecond)
	}
}

func watched(out io.Writer, server *redistest.Server, n int, channel string, writes int) error {
	c, err := gather(server, n, channel)
	if err != nil {
		return err
	}
	defer c.close()
	before, err := cpu(server)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := write(server, channel, writes); err != nil {
		return err
	}
	took := time.Since(began)
	c.await(int64(n * writes))
	after, err := cpu(server)
	if err != nil {
		return err
	}
	memory, err := memoryPerWatcher(server, channel)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| %d | %s | %.1f | %s | %.0f |\n", n, by(channel), (after-before).Seconds()*1e6/float64(writes), memory, float64(writes)/took.Seconds())
	return nil
}

func by(channel string) string {
	if channel == "" {
		return "tracking"
	}
	return "publishing"
}

// capacity measures how many keys a watcher receives each second: a script changes them
// faster.
func capacity(out io.Writer, server *redistest.Server, channel string, changes int) error {
	c, err := gather(server, 1, channel)
	if err != nil {
		return err
	}
	defer c.close()
	const together = 100
	script := `for i = 1, ` + strconv.Itoa(together) + ` do
	local key = 'users:' .. ARGV[1] .. ':' .. i
	redis.call('SET', key, '1')
	if ARGV[2] ~= '' then redis.call('PUBLISH', ARGV[2], key) end
end`
	writer, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true, PipelineMultiplex: -1})
	if err != nil {
		return err
	}
	defer writer.Close()
	var commands rueidis.Commands
	for i := range changes / together {
		commands = append(commands, writer.B().Eval().Script(script).Numkeys(0).Arg(strconv.Itoa(i), channel).Build())
	}
	began := time.Now()
	for _, reply := range writer.DoMulti(context.Background(), commands...) {
		if err := reply.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	c.await(int64(changes))
	took := time.Unix(0, c.last.Load()).Sub(began)
	fmt.Fprintf(out, "| %s | %.0f | %d of %d | %d |\n", by(channel), float64(c.told.Load())/took.Seconds(), c.told.Load(), changes, c.lost.Load())
	return nil
}

// write sets different keys, twenty in one packet, and publishes them too if there is a
// channel.
func write(server *redistest.Server, channel string, writes int) error {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true, PipelineMultiplex: -1})
	if err != nil {
		return err
	}
	defer c.Close()
	const together = 20
	for i := 0; i < writes; i += together {
		var commands rueidis.Commands
		for j := i; j < i+together; j++ {
			commands = append(commands, c.B().Set().Key(key(j)).Value("1").Build())
			if channel != "" {
				commands = append(commands, c.B().Publish().Channel(channel).Message(key(j)).Build())
			}
		}
		for _, reply := range c.DoMulti(context.Background(), commands...) {
			if err := reply.Error(); err != nil {
				return err
			}
		}
	}
	return nil
}

// cpu returns the processor time that Redis has used.
func cpu(server *redistest.Server) (time.Duration, error) {
	info, err := text(server, "INFO", "cpu")
	if err != nil {
		return 0, err
	}
	var total float64
	for _, m := range regexp.MustCompile(`used_cpu_(?:sys|user):([\d.]+)`).FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, err
		}
		total += seconds
	}
	return time.Duration(total * float64(time.Second)), nil
}

// memoryPerWatcher returns the mean memory of a watching connection by CLIENT LIST.
func memoryPerWatcher(server *redistest.Server, channel string) (string, error) {
	list, err := text(server, "CLIENT", "LIST")
	if err != nil {
		return "", err
	}
	is := regexp.MustCompile(` flags=\w*B`)
	if channel != "" {
		is = regexp.MustCompile(` sub=2 `)
	}
	total, n := 0, 0
	for line := range strings.Lines(list) {
		if m := regexp.MustCompile(` tot-mem=(\d+)`).FindStringSubmatch(line); m != nil && is.MatchString(line) {
			bytes, err := strconv.Atoi(m[1])
			if err != nil {
				return "", err
			}
			total, n = total+bytes, n+1
		}
	}
	if n == 0 {
		return "", nil
	}
	return fmt.Sprintf("%.1f", float64(total)/float64(n)/1024), nil
}

func text(server *redistest.Server, args ...string) (string, error) {
	reply, err := server.Do(args...)
	if err != nil {
		return "", err
	}
	return reply.ToString()
}
