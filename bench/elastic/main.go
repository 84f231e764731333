// Command elastic shows what the option Elastic is worth: a program near its GOMEMLIMIT, whose
// other memory swings by two times, has a cache with Elastic or one of several fixed limits.
//
//	go run ./elastic [-ops n] [-limit MB]
//
// Each runs in a process of its own. The table has the hits, the share of the processor time
// that the garbage collector took, and the most memory that counted against GOMEMLIMIT.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
	"github.com/pinwheel-cache/pinwheel/cache"
)

func main() {
	ops := flag.Int("ops", 1_000_000, "gets")
	limit := flag.Int("limit", 256, "GOMEMLIMIT, in `MB`")
	most := flag.Int("most", 0, "run one program, with a cache of this many `MB`")
	elastic := flag.Bool("elastic", false, "with Elastic")
	flag.Parse()
	if *most > 0 {
		json.NewEncoder(os.Stdout).Encode(run(*ops, *limit<<20, uint64(*most)<<20, *elastic))
		return
	}
	fmt.Println("| cache, MB | hits | collector | most memory, MB | at the end, MB |\n|---|---:|---:|---:|---:|")
	for _, c := range []struct {
		share   float64
		elastic bool
	}{{0.75, true}, {0.125, false}, {0.25, false}, {0.375, false}, {0.4375, false}, {0.5, false}, {0.75, false}} {
		if err := child(*ops, *limit, int(c.share*float64(*limit)), c.elastic); err != nil {
			fmt.Fprintln(os.Stderr, "elastic:", err)
			os.Exit(1)
		}
	}
}

// child runs one program, and prints its row.
func child(ops, limit, most int, elastic bool) error {
	cmd := exec.Command(os.Args[0], "-ops", fmt.Sprint(ops), "-limit", fmt.Sprint(limit), "-most", fmt.Sprint(most), fmt.Sprint("-elastic=", elastic))
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%dMiB", limit))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		return err
	}
	name := fmt.Sprint(most)
	if elastic {
		name = fmt.Sprintf("Elastic, %d", most)
	}
	fmt.Printf("| %s | %.1f %% | %.1f %% | %d | %d |\n", name, 100*r.Hits, 100*r.Collector, r.Memory>>20, r.End>>20)
	return nil
}

type result struct {
	Hits      float64
	Collector float64 // share of the processor time of the process
	Memory    uint64  // most, in bytes
	End       uint64  // MaxWeight at the end
}

const (
	keys     = 300_000
	swings   = 6    // of the other memory, each up and down
	smallest = 0.15 // of GOMEMLIMIT: the other memory between swings; twice that in them
)

// run gets keys of a Zipf distribution, of values of 1 to 2 KB, beside the other memory.
func run(ops, limit int, most uint64, elastic bool) (r result) {
	c := cache.Must(cache.Options[int, []byte]{
		MaxWeight: most, Weigh: cache.SizeOf[int, []byte], Elastic: elastic, Policy: cache.Adaptive,
	})
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.01, 100, keys-1)
	var other [][]byte
	phase := ops / (2 * swings)
	for i := range ops {
		if i%phase == 0 {
			other = foreign(limit, i/phase%2 == 1)
		}
		key := int(zipf.Uint64())
		value, _ := c.Take(key, func() ([]byte, error) {
			value := make([]byte, 1000+key%1000)
			work(value, 20) // a query costs more than what is done with its answer
			return value, nil
		})
		work(value, 5)
		if i%1000 == 0 {
			r.Memory = max(r.Memory, memory())
		}
	}
	runtime.KeepAlive(other)
	s := c.Stats()
	r.Hits, r.End = s.HitRatio(), s.MaxWeight
	r.Collector = collector() / cputime.Used().Seconds()
	return r
}

// work is what a request takes beside the cache.
func work(value []byte, times int) {
	for range times {
		sha256.Sum256(value)
	}
}

// foreign returns memory in small pieces, as of requests.
func foreign(limit int, twice bool) (pieces [][]byte) {
	bytes := int(smallest * float64(limit))
	if twice {
		bytes *= 2
	}
	for n := 0; n < bytes; n += 4 << 10 {
		pieces = append(pieces, make([]byte, 4<<10))
	}
	return pieces
}

// memory returns what counts against GOMEMLIMIT.
func memory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// collector returns the seconds of the processors that the collector took, without those of
// processors that had nothing else to do.
func collector() float64 {
	runtime.GC() // the metrics are as of the end of a cycle
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64() - s[1].Value.Float64()
}
