package layers

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// parts are structs whose fields belong to files: those of a shard, and those of a load. Other files use
// their methods.
var parts = map[string]string{
	"slots":   "slots",
	"lives":   "lives due",
	"earlier": "earlier lives",
	"turn":    "turn",
	"pending": "pending",
	"loads":   "pending",
	"fences":  "fence pending",
	"tally":   "tally",
	"place":   "load pending join filters conclude",
	"result":  "load fetcher run errors conclude join troubles",
}

// foreign are the fields that other files use all the same. There may be fewer, and no more.
var foreign = map[string]string{
	"slots.len":      "arrays cache del elastic evict limit stats store table: it is read, as the number of entries",
	"lives.ring":     "expiry: a tick advances the ring, and removes entries meanwhile",
	"turn.order":     "coldwalk evict table: they go through the order, and decide about each entry",
	"pending.fences": "compute: the fence of a Compute is put up and taken down there",
	"fences.spare":   "compute: likewise",
	"place.done":     "caller close: they wait for it",
	"place.unshared": "troubles: its key may not be equal to itself",
	"place.renewal":  "fetcher renewal restore: begun as one, and treated as one",
	"result.value":   "filters takemany: what waited reads the result",
	"result.err":     "takemany: likewise",
}

// TestFields checks which files use the fields of parts.
//
// Catches: a part that another file takes apart, an exception that is not needed any more.
func TestFields(t *testing.T) {
	p := load(t, "../../cache", nil, ".")[0]
	owner := map[types.Object]string{}
	for part := range parts {
		fields := p.Types.Scope().Lookup(part).Type().Underlying().(*types.Struct)
		for i := range fields.NumFields() {
			owner[fields.Field(i)] = part
		}
	}
	used := map[string]map[string]bool{} // by field, the files that are not its own
	for _, file := range p.Syntax {
		from := fileOf(p, file)
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			v, ok := p.TypesInfo.Uses[id].(*types.Var)
			if !ok || !v.IsField() {
				return true
			}
			part := owner[v.Origin()]
			if part == "" || slices.Contains(strings.Fields(parts[part]), from) {
				return true
			}
			field := part + "." + v.Name()
			if used[field] == nil {
				used[field] = map[string]bool{}
			}
			used[field][from] = true
			return true
		})
	}
	for field, files := range used {
		got := strings.Join(slices.Sorted(maps.Keys(files)), " ")
		want, _, _ := strings.Cut(foreign[field], ":")
		if got != want {
			t.Errorf("%s is used by %q, want %q", field, got, want)
		}
	}
	for field := range foreign {
		if used[field] == nil {
			t.Errorf("no other file uses %s any more: remove the exception", field)
		}
	}
}
