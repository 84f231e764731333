package stats

import "bytes"

// Var is an expvar.Var of the statistics of all caches and timing wheels of the process.
// This package does not import expvar, which would open /debug/vars:
//
//	expvar.Publish("pinwheel", stats.Var{})
//
// It is safe for concurrent use.
type Var struct{}

// String returns the JSON that [Handler] serves as stats.json, without history. The
// windows in it are empty as long as nobody has called Handler.
func (Var) String() string { return process.varString() }

func (r *registries) varString() string {
	var b bytes.Buffer
	if err := r.writeJSON(&b, noHistory); err != nil {
		return "null"
	}
	return string(bytes.TrimSpace(b.Bytes()))
}
