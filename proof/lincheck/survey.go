package lincheck

import (
	"math/rand/v2"

	"github.com/anishathalye/porcupine"
)

// A Survey finds the faults of a cache: it goes on after a wrong history and keeps the
// faults that explain those it has seen. It is not safe for concurrent use.
type Survey struct {
	Promises
	Report
	Found []*Finding // in the order in which they were seen
}

// A Finding is a fault that a survey has seen.
type Finding struct {
	Fault     Faults     // one; none if no few faults explain the histories
	Histories int        // that need it to be explained
	Example   *Violation // the shortest
}

// Run records histories of a subject and adds them, while more returns true for their
// number.
func (s *Survey) Run(subject *Subject, w Workload, seed uint64, more func(number int) bool) {
	for n := 0; more(n); n++ {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		s.Add(newRound(subject, s.Promises, w, random, int64(n)).record(random), seed, n)
	}
}

// Add checks a history. If it is wrong, Add counts the smallest set of faults that explains
// it.
func (s *Survey) Add(history []Op, seed uint64, number int) {
	decided := true
	wrong := make(map[Faults]*Violation)
	for _, part := range byKey(operations(history)) {
		switch verdict(s.Promises, part) {
		case porcupine.Unknown:
			decided = false
		case porcupine.Illegal:
			v := Violation{Seed: seed, Number: number, Key: part[0].Input.(Op).Key, model: rules{s.Promises, 0}.model()}
			for _, o := range part {
				v.History = append(v.History, o.Input.(Op))
			}
			for _, fault := range explain(s.Promises, part).Each() {
				example := v
				wrong[fault] = &example
			}
		}
	}
	s.Report.add(history, decided)
	for fault, v := range wrong {
		s.finding(fault).note(s.Promises, v)
	}
}

func (s *Survey) finding(fault Faults) *Finding {
	for _, f := range s.Found {
		if f.Fault == fault {
			return f
		}
	}
	f := &Finding{Fault: fault}
	s.Found = append(s.Found, f)
	return f
}

// shortened is how many histories with a fault are shortened.
const shortened = 30

// note counts a history with the fault, and keeps it if it is the shortest.
func (f *Finding) note(p Promises, v *Violation) {
	f.Histories++
	if f.Histories > shortened {
		return
	}
	v.History = shorten(p, f.Fault, v.History)
	if f.Example == nil || len(v.History) < len(f.Example.History) {
		f.Example = v
	}
}
