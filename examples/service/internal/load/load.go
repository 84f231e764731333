// Package load sends the example service requests over HTTP, at a steady rate, mostly
// for the same few users.
package load

import (
	"context"
	"io"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// workers bounds the concurrent requests. It is far more than a healthy service
// needs, so the bound is reached only if the service is slower than the rate.
const workers = 32

// burst is how many requests are made up for after a time in which no worker was free: few,
// since a burst of them would measure the burst.
const burst = 10

// Config describes the load.
type Config struct {
	Target string // address of the service, such as http://127.0.0.1:8888
	Rate   Rate   // requests per second
	Users  int    // ids from 1 to this, by Zipf's law: 1 is read most
	Guests int    // users with higher ids, who come and go: about half of them are missing; 0 for none
	Stop   int    // requests after which to stop; 0 = when the context ends

	Every time.Duration         // between two reports; 0 = 5 s
	Out   io.Writer             // for the reports
	Stats func() stats.Snapshot // of the cache of users, for its hit ratio
}

// Run sends requests until ctx ends or Config.Stop is reached, and returns when all
// have ended. It returns the number of requests and of those that failed: with no
// response, or an unexpected one.
func Run(ctx context.Context, c Config) (requests, failed int) {
	client := &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: workers}, // without a proxy
		Timeout:   5 * time.Second,
	}
	defer client.CloseIdleConnections()
	most := int64(c.Stop)
	if most == 0 {
		most = math.MaxInt64
	}
	var sent atomic.Int64
	limiter := rate.NewLimiter(rate.Limit(c.Rate), burst)
	report := newReport(c)
	var working sync.WaitGroup
	for range workers {
		u := newUser(c, client)
		working.Go(func() {
			for sent.Add(1) <= most && limiter.Wait(ctx) == nil {
				begin := time.Now()
				err := u.act()
				report.add(time.Since(begin), err)
			}
		})
	}
	reporting, stop := context.WithCancel(context.Background())
	var reporter sync.WaitGroup
	reporter.Go(func() { report.run(reporting) })
	working.Wait()
	stop()
	reporter.Wait()
	return report.requests, report.failed
}
