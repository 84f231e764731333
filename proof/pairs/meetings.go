package pairs

import (
	"fmt"
	"maps"
	"sync"
)

// Meetings count who has met what: an actor a method, and a method a context.
type meetings struct {
	mu sync.Mutex
	n  map[meeting]int
}

type meeting struct{ who, what string }

func (m *meetings) add(who, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.n == nil {
		m.n = map[meeting]int{}
	}
	m.n[meeting{who, what}]++
}

// print tells another process of the meetings, a line for each, for scan.
func (m *meetings) print() {
	for pair, n := range m.n {
		fmt.Printf(meetingLine, pair.who, pair.what, n)
	}
}

const meetingLine = "%q met %q %d times\n"

// scan adds what print has printed in a line of another process.
func (m *meetings) scan(line string) {
	var pair meeting
	var n int
	if _, err := fmt.Sscanf(line, meetingLine[:len(meetingLine)-1], &pair.who, &pair.what, &n); err == nil {
		for range n {
			m.add(pair.who, pair.what)
		}
	}
}

// missing returns who has met too few to prove anything: an actor who has not met a quarter
// of the methods, and a method with contexts that has not met all kinds of them.
func (m *meetings) missing() (all []string) {
	met := map[string]int{}
	for pair := range maps.Keys(m.n) {
		met[pair.who]++
	}
	for _, kind := range append([]string{"the program"}, kinds...) {
		if n := met[kind]; n < len(methods)/4 {
			all = append(all, fmt.Sprintf("%s has called %d methods of %d", kind, n, len(methods)))
		}
	}
	for _, method := range []string{"TakeCtx", "TakeWith", "TakeMissed", "TakeMany", "TakeManyWith", "Fetch", "FetchMany", "Refresh", "Wait", "Close", "SaveFile"} {
		if n := met[method]; n < len(contextKinds) {
			all = append(all, fmt.Sprintf("%s had %d kinds of contexts of %d", method, n, len(contextKinds)))
		}
	}
	return all
}
