package lincheck

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is how long porcupine may look for an order of one history. It usually takes
// less than a millisecond, but could take any time.
const patience = time.Minute

// A Violation is a history that no order of its operations explains.
type Violation struct {
	Seed    uint64 // of the run
	Number  int    // of the history in the run, from 0 on
	Key     int    // whose operations no order explains
	History []Op

	model porcupine.Model
}

func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no order explains history %d of seed %d: key %d", v.Number, v.Seed, v.Key)
	for _, op := range sorted(v.History) {
		if op.Key == v.Key || op.ofAllKeys() {
			fmt.Fprintf(&b, "\n%10d to %10d ns, client %d: %v", op.Call, op.Return, op.Client, op)
		}
	}
	return b.String()
}

func sorted(history []Op) []Op {
	return slices.SortedFunc(slices.Values(history), func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
}

// WriteTemp writes the history as a page for a browser, which shows how far the checker
// came. It returns the path of the temporary file.
func (v *Violation) WriteTemp() (string, error) {
	f, err := os.CreateTemp("", "lincheck-*.html")
	if err != nil {
		return "", err
	}
	_, info := porcupine.CheckOperationsVerbose(v.model, operations(v.History), patience)
	err = porcupine.Visualize(v.model, info, f)
	return f.Name(), cmp.Or(err, f.Close())
}

// verdict checks a history of one key.
func verdict(p Promises, part []porcupine.Operation) porcupine.CheckResult {
	m := rules(p).model()
	m.Partition = nil
	return porcupine.CheckOperationsTimeout(m, part, patience)
}

// Check reports whether some order explains the answers in a history, and if not, for which
// key. If decided is false, finding out took too long.
func Check(p Promises, history []Op) (ok bool, key int, decided bool) {
	decided = true
	for _, part := range byKey(operations(history)) {
		switch verdict(p, part) {
		case porcupine.Illegal:
			return false, part[0].Input.(Op).Key, true
		case porcupine.Unknown:
			decided = false
		}
	}
	return true, 0, decided
}

// A Report says what a run has checked.
type Report struct {
	Histories, Operations int
	Undecided             int // histories that took too long to check
}

// Run records histories of a subject and checks them, while more returns true for their
// number. It ends with the first wrong one. All use one Subject, so that its locks and
// tables have a past.
func Run(s *Subject, p Promises, w Workload, seed uint64, more func(number int) bool) (report Report, wrong *Violation) {
	for n := 0; more(n); n++ {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		history := newRound(s, p, w, random, int64(n)).record(random)
		ok, key, decided := Check(p, history)
		report.Histories++
		report.Operations += len(history)
		if !decided {
			report.Undecided++
		}
		if !ok {
			return report, &Violation{Seed: seed, Number: n, Key: key, History: history, model: rules(p).model()}
		}
	}
	return report, nil
}
