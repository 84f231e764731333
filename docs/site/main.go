// Command site makes one static site of all pages of the repository: the README, docs, and the
// pages beside the programs and results.
//
//	make site
//
// The site needs no server: opened as files it has the same links and the same search.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	from := flag.String("from", "../..", "the `folder` of the repository")
	to := flag.String("o", "../../dist/site", "the `folder` for the site, which is replaced")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "site: %q: want flags only\n", flag.Args())
		os.Exit(2)
	}
	pages, err := build(*from, *to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages: open %s/index.html\n", pages, *to)
}
