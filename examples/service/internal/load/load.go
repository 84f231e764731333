// Package load sends the example service requests over HTTP, at a steady rate, mostly
// for the same few users.
package load

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// workers bounds the concurrent requests. It is far more than a healthy service
// needs, so the bound is reached only if the service is slower than the rate.
const workers = 32

// Config describes the load.
type Config struct {
	Target  string        // address of the service, such as http://127.0.0.1:8888
	Rate    Rate          // requests per second
	Users   int           // ids from 1 to this, by Zipf's law: 1 is read most
	Guests  int           // users with higher ids, who come and go: about half of them are missing; 0 for none
	Timeout time.Duration // after which the service calls a session silent
	Stop    int           // requests after which to stop; 0 = when the context ends

	Every time.Duration         // between two reports; 0 = 5 s
	Out   io.Writer             // for the reports
	Stats func() stats.Snapshot // of the cache of users, for its hit ratio
}

// Run sends requests until ctx ends or Config.Stop is reached, and returns when all
// have ended. It returns the number of requests and of those that failed: with no
// response, or an unexpected one.
func Run(ctx context.Context, c Config) (requests, failed int) {
	client := newClient()
	defer client.CloseIdleConnections()
	report := newReport(c)
	sessions := newSessions(c)

	jobs := make(chan struct{})
	var wg sync.WaitGroup
	for range workers {
		u := newUser(c, client, sessions)
		wg.Go(func() {
			for range jobs {
				begin := time.Now()
				err := u.act()
				report.add(time.Since(begin), err)
			}
		})
	}
	stop := report.start()
	pace(ctx, c, jobs)
	close(jobs)
	wg.Wait()
	stop()
	return report.totals()
}

// pace sends jobs at the rate. It computes from the clock how many are due, as ticks
// come late. After a time in which no worker was free it skips the jobs missed, since
// a burst of them would measure the burst.
func pace(ctx context.Context, c Config, jobs chan<- struct{}) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	begin, sent, total := time.Now(), 0, 0
	for c.Stop == 0 || total < c.Stop {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		due := int(time.Since(begin).Seconds() * float64(c.Rate))
		if behind := due - sent; behind > int(c.Rate) {
			begin, sent, due = time.Now(), 0, 0
		}
		for ; sent < due && (c.Stop == 0 || total < c.Stop); sent++ {
			select {
			case <-ctx.Done():
				return
			case jobs <- struct{}{}:
				total++
			}
		}
	}
}

// newClient returns a client that keeps a connection for each worker and uses no
// proxy.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: workers},
		Timeout:   5 * time.Second,
	}
}
