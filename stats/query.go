package stats

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A selection names the caches and wheels of a query. The zero selection is all of them,
// with the small set of metrics.
type selection struct {
	some           bool // only caches and wheels of these names
	all            bool // of metrics: those on request too
	caches, wheels []string
}

func newSelection(query url.Values) selection {
	s := selection{caches: query["cache"], wheels: query["wheel"], all: query.Get("all") == "1"}
	s.some = len(s.caches)+len(s.wheels) > 0
	return s
}

func (s selection) hasCache(name string) bool { return !s.some || slices.Contains(s.caches, name) }

func (s selection) hasWheel(name string) bool { return !s.some || slices.Contains(s.wheels, name) }

// A form is what the query chooses of the JSON.
type form struct {
	selection
	purge  bool // it is allowed to purge
	errors bool // the texts of errors are shown
	peers  bool // there is fleet.json
	points int  // of history for each cache and wheel; below 0 no history at all
}

// noHistory is the form of an empty query.
var noHistory = form{points: -1}

// newForm returns the form of a query.
func newForm(query url.Values) (form, error) {
	f := noHistory
	f.selection = newSelection(query)
	if asked := query.Get("points"); asked != "" {
		points, err := strconv.Atoi(asked)
		if err != nil || points < 0 {
			return f, fmt.Errorf("points is %q: want how many points of history, from 0 to %d", asked, historyPoints+1)
		}
		f.points = min(points, historyPoints+1)
	}
	return f, nil
}

// maxPoints is how many points an answer has at most: those of 50 caches. With more
// caches each has fewer, but at least two, so that regular polling misses none.
const maxPoints = 50 * historyPoints

func (f form) pointsOfEach(sources int) int {
	return min(f.points, max(2, maxPoints/max(sources, 1)))
}

// maxText is how many bytes of a name, a key or an error are shown.
const maxText = 200

// shorten cuts a text to maxText, and marks the cut.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
