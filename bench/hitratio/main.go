// Command hitratio replays traces of keys through caches and writes their hit ratios, as a
// table.
//
//	go run ./hitratio -traces DIR
//
// A trace is a file NAME.u64.gz: gzip of little-endian uint64 keys, one for each
// access. Besides those in DIR it replays some synthetic ones, and those in DIR once more
// with a size for each key and limits in bytes. For each key it gets, and on a miss sets.
// Every access counts, even from the cold start. After each access it waits for caches that
// work in the background, which otherwise hold more than their capacity or drop Sets.
package main

import (
	"flag"
	"fmt"
	"log"
	"path/filepath"
	"regexp"
)

func main() {
	log.SetFlags(0)
	traces := flag.String("traces", "", "the `folder` of the traces")
	only := flag.String("cache", ".", "replay only through caches that this `regexp` matches")
	seeds := flag.Int("seeds", 1, "replay `n` times and take the median")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(*traces, "*.u64.gz"))
	if err != nil {
		log.Fatal(err)
	}
	var cells, weighed []cell
	for _, file := range files {
		t, err := read(file)
		if err != nil {
			log.Fatal(err)
		}
		cells = append(cells, replayAll(t, match, *seeds)...)
		weighed = append(weighed, replayAll(sized(t), match, *seeds)...)
	}
	for _, t := range made() {
		cells = append(cells, replayAll(t, match, *seeds)...)
	}
	tables := table(cells, hits, true)
	if len(weighed) > 0 {
		tables += tableOfSizes(weighed)
	}
	fmt.Print(tables)
}
