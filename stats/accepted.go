package stats

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// WithAccepted makes the handler show findings of the named cache that are meant, such as
// "TTL too short" where a business rule sets the TTL, in grey and last, and count them no more:
// their severity is "accepted". The causes are those that the page shows. WithAccepted panics
// if one is unknown. A name that no cache has changes nothing. It may be given several times.
func WithAccepted(cache string, causes ...string) HandlerOption {
	for _, cause := range causes {
		if !slices.Contains(allCauses, cause) {
			panic(fmt.Sprintf("stats: WithAccepted(%q) got the cause %q: want one of %s", cache, cause, strings.Join(allCauses, ", ")))
		}
	}
	return func(h *handler) {
		all := maps.Clone(h.accepted)
		if all == nil {
			all = make(map[string][]string)
		}
		all[cache] = slices.Concat(all[cache], causes)
		h.accepted = all
	}
}

// accept marks the findings whose causes are accepted, and moves them behind the others.
func accept(all []finding, causes []string) []finding {
	for i := range all {
		if slices.Contains(causes, all[i].Cause) {
			all[i].Severity = accepted
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int { return rank(a) - rank(b) })
	return all
}

// rank is 1 for a finding that is accepted, and 0 for others.
func rank(f finding) int {
	if f.Severity == accepted {
		return 1
	}
	return 0
}
