package stats

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

const schemaFile = "../../docs/stats.schema.json"

// strictSchema is the schema, but refuses further fields: readers must ignore fields that they
// do not know, and this version writes none.
var strictSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	file, err := os.Open(schemaFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	schema, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		return nil, err
	}
	if err := closeObjects(schema); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(schemaFile, schema); err != nil {
		return nil, err
	}
	return c.Compile(schemaFile)
})

// closeObjects makes every object of a schema refuse unnamed fields. It returns which fields,
// but history, are not required, or have no description.
func closeObjects(schema any) (errs error) {
	switch schema := schema.(type) {
	case map[string]any:
		if fields, ok := schema["properties"].(map[string]any); ok && schema["type"] == "object" {
			schema["additionalProperties"] = false
			required, _ := schema["required"].([]any)
			for name, field := range fields {
				says, _ := field.(map[string]any)["description"].(string)
				if !strings.HasSuffix(says, ".") || name != "history" && !slices.Contains(required, any(name)) {
					errs = errors.Join(errs, fmt.Errorf("%s is not described, or not required", name))
				}
			}
		}
		for _, value := range schema {
			errs = errors.Join(errs, closeObjects(value))
		}
	case []any:
		for _, value := range schema {
			errs = errors.Join(errs, closeObjects(value))
		}
	}
	return errs
}

// checkSchema fails t unless text fits the schema.
func checkSchema(t testing.TB, text string) {
	t.Helper()
	schema, err := strictSchema()
	settle.Must(t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if err := schema.Validate(document); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// TestTheSchemaRefuses checks that the schema rejects wrong answers: one that allows anything
// would pass the other tests.
func TestTheSchemaRefuses(t *testing.T) {
	var looks atomic.Uint64
	used := func() (stats.Snapshot, bool) { // between two samples too, or there would be no estimates
		s := distinct(0)
		s.Hits += looks.Load()
		s.WhatIf.Gets += looks.Add(1)
		return s, true
	}
	register(t, sources.Cache[stats.Snapshot]{Name: "users", Snapshot: used, HotKeys: hotKeys})
	text := served(t, "/stats.json")
	checkSchema(t, text)
	schema, err := strictSchema()
	settle.Must(t, err)
	for _, change := range []struct{ from, to string }{
		{`"version":1`, `"version":2`},
		{`"caches":[`, `"Caches":[`},
		{`"wheels":[]`, `"wheels":null`},
		{`"purge":false`, `"purge":0`},
		{`"name":"users"`, `"name":""`},
		{`"hits":`, `"hits":-`},
		{`"hits":`, `"more":1,"hits":`},
		{`"hits":`, `"hat":`},
		{`"seconds":`, `"seconds":"0","second":`},
		{`"purgeable":false`, `"purgeable":null`},
		{`"windows":{`, `"windows":null,"window":{`},
		{`"key":"a"`, `"key":1`},
		{`"share":0`, `"share":1.5`},
		{`"half":{`, `"half":{"more":1,`},
		{`"time":"2`, `"time":"x2`},
	} {
		changed := strings.Replace(text, change.from, change.to, 1)
		if changed == text {
			t.Errorf("no %s in %s", change.from, text)
			continue
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(changed))
		settle.Must(t, err)
		if schema.Validate(document) == nil {
			t.Errorf("%s instead of %s passes", change.to, change.from)
		}
	}
}

func hotKeys() []sources.HotKey { return []sources.HotKey{{Key: "a"}, {Key: "\xff<"}} }

// TestStatsFitTheSchema checks all shapes of the statistics: without caches, with unused ones,
// with odd names, hot keys and purging, with few and many points of history, and from expvar.
func TestStatsFitTheSchema(t *testing.T) {
	fit := func(t *testing.T, options ...stats.HandlerOption) {
		for _, query := range []string{"", "?points=0", "?points=1", "?points=60"} {
			checkSchema(t, served(t, "/stats.json"+query, options...))
		}
		checkSchema(t, stats.Var{}.String())
	}
	t.Run("nothing", func(t *testing.T) { fit(t) })
	t.Run("never used", func(t *testing.T) {
		registerCache(t, "users", always(stats.Snapshot{}))
		registerWheel(t, "users", always(stats.WheelSnapshot{}))
		fit(t)
	})
	t.Run("odd names", func(t *testing.T) {
		for i, name := range oddNames() {
			registerCache(t, name, always(distinct(uint64(1000*i))))
			registerWheel(t, name, always(distinctWheel(uint64(1000*i))))
		}
		fit(t)
	})
	t.Run("hot keys and purging", func(t *testing.T) {
		register(t, sources.Cache[stats.Snapshot]{
			Name: "users", Snapshot: always(distinct(0)), HotKeys: hotKeys,
			Purge:    func(string) (int, error) { return 1, nil },
			PurgeAll: func() int { return 1 },
			Failures: func() (load, store, source *sources.Failure) {
				return &sources.Failure{Time: time.Now(), Err: errors.New("no database")}, nil, nil
			},
		})
		fit(t, stats.WithOperators(func(*http.Request) error { return nil }))
	})
	t.Run("history", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var hits atomic.Uint64
			registerCache(t, "users", func() (stats.Snapshot, bool) {
				n := hits.Add(1)
				return stats.Snapshot{Hits: n, Sets: n}, true
			})
			registerWheel(t, "users", func() (stats.WheelSnapshot, bool) { return stats.WheelSnapshot{Fired: hits.Load()}, true })
			for range 70 {
				fit(t)
				time.Sleep(7 * time.Second)
			}
		})
	})
}
