package pairs

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// The watch looks often, and at most for two minutes at a round without progress: it usually
// takes a millisecond.
const (
	look  = 200 * time.Millisecond
	looks = 2 * time.Minute / look
)

// watch ends the process when the round does not go on. Fake time cannot tell: it stands
// still while a goroutine waits for a lock.
func (s *stage) watch() {
	stuck := time.Duration(0) // looks
	for last := s.progress.Load(); ; {
		time.Sleep(look)
		if now := s.progress.Load(); now != last {
			last, stuck = now, 0
			continue
		}
		stuck++
		stacks := goroutines()
		if stuck >= 2 && blocked(stacks) {
			hang("all goroutines wait, and some for a lock", stacks)
		}
		if stuck >= looks {
			hang(fmt.Sprintf("nothing has happened for %v", looks*look), stacks)
		}
	}
}

func hang(what string, stacks []string) {
	fmt.Printf("HANG: %s\n%s\n", what, strings.Join(stacks, "\n\n"))
	os.Exit(1)
}

// goroutines returns the stacks of the goroutines in a bubble.
func goroutines() (inBubble []string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if head, _, _ := bytes.Cut(stack, []byte("\n")); bytes.Contains(head, []byte("synctest bubble")) {
			inBubble = append(inBubble, string(stack))
		}
	}
	return inBubble
}

var waiting = regexp.MustCompile(`^goroutine \d+ \[(sync\.|[^]]*durable)`)

// blocked reports whether all goroutines wait, for a lock or for each other.
func blocked(stacks []string) bool {
	for _, stack := range stacks {
		if !waiting.MatchString(stack) {
			return false
		}
	}
	return len(stacks) > 0
}
