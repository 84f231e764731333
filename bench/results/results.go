// Package results holds what was measured, and makes tables of it.
package results

import "slices"

// Results are all samples of a run, and where they come from.
type Results struct {
	Machine   Machine
	Commit    string
	Date      string
	Command   string
	Short     bool     // a sanity run: the sizes are not those of the names
	Libraries []string // in the order in which they are printed
	Part
}

// A Part is what one process of a run measured.
type Part struct {
	// Distances says for the cases with several threads, in each round, how far
	// apart the processors were: Near, Far or Mixed.
	Distances map[string][]string `json:"distances"`
	Series    []Series            `json:"series"`
}

// A Series is one figure of a library in a case, once for each round.
type Series struct {
	Case    string    `json:"case"`
	Library string    `json:"library"`
	Metric  string    `json:"metric"`
	Values  []float64 `json:"values"`
}

// The distances between processors.
const (
	Near  = "near"
	Far   = "far"
	Mixed = "mixed" // it changed, or could not be told
)

// NsPerOp is the metric of all cases but those that have several of their own.
const NsPerOp = "ns/op"

// Add adds a value to its series.
func (p *Part) Add(caseName, library, metric string, values ...float64) {
	s := p.Find(caseName, library, metric)
	if s == nil {
		p.Series = append(p.Series, Series{Case: caseName, Library: library, Metric: metric})
		s = &p.Series[len(p.Series)-1]
	}
	s.Values = append(s.Values, values...)
}

// AddDistance notes how far apart the processors were in a round of a case.
func (p *Part) AddDistance(caseName string, distances ...string) {
	if p.Distances == nil {
		p.Distances = make(map[string][]string)
	}
	p.Distances[caseName] = append(p.Distances[caseName], distances...)
}

// Merge adds everything that another process measured.
func (p *Part) Merge(other Part) {
	for name, distances := range other.Distances {
		p.AddDistance(name, distances...)
	}
	for _, s := range other.Series {
		p.Add(s.Case, s.Library, s.Metric, s.Values...)
	}
}

// Find returns a series, or nil.
func (p *Part) Find(caseName, library, metric string) *Series {
	i := slices.IndexFunc(p.Series, func(s Series) bool {
		return s.Case == caseName && s.Library == library && s.Metric == metric
	})
	if i < 0 {
		return nil
	}
	return &p.Series[i]
}

// At returns the values of the rounds in which the processors were at a
// distance, or all if that is empty.
func (p *Part) At(s *Series, distance string) []float64 {
	if distance == "" {
		return s.Values
	}
	var values []float64
	for round, d := range p.Distances[s.Case] {
		if d == distance && round < len(s.Values) {
			values = append(values, s.Values[round])
		}
	}
	return values
}

// Apart returns the distances that the values of a case have to be told apart
// by. Mixed rounds count only if there are no others.
func (p *Part) Apart(caseName string) []string {
	distances := p.Distances[caseName]
	if len(distances) == 0 {
		return []string{""}
	}
	apart := slices.DeleteFunc([]string{Near, Far}, func(d string) bool { return !slices.Contains(distances, d) })
	if len(apart) == 0 {
		return []string{Mixed}
	}
	return apart
}
