package stats_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

const schemaFile = "../docs/stats.schema.json"

// readSchema returns the schema as a document.
func readSchema(t testing.TB) map[string]any {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

// The types, the schema and the list in doc.go name the same fields.
func TestSchemaAndDocumentationNameEveryField(t *testing.T) {
	want := map[string]string{}
	fieldsOfType(stats.JSONStats, "", want)
	if len(want) < 100 {
		t.Fatalf("only %d fields are found", len(want))
	}
	t.Run("schema", func(t *testing.T) {
		schema := readSchema(t)
		got := map[string]string{}
		fieldsOfSchema(t, schema, schema, "", got)
		sameFields(t, got, want)
	})
	t.Run("doc.go", func(t *testing.T) {
		got := fieldsOfDoc(t)
		for path, kind := range want { // the list names the types in words
			if word, ok := got[path]; ok && (word == "" || strings.HasPrefix(kind, word)) {
				got[path] = kind
			}
		}
		sameFields(t, got, want)
	})
}

func sameFields(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			t.Errorf("%s is %q, want %q", path, got[path], want[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[path]; !ok {
			t.Errorf("%s, which there is not", path)
		}
	}
}

// fieldsOfType adds the fields of a struct by path, each with the type that it has in
// JSON.
func fieldsOfType(of reflect.Type, path string, fields map[string]string) {
	for _, field := range reflect.VisibleFields(of) {
		if field.Anonymous {
			continue // its fields are visible too
		}
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		kind, inner := kindOf(field.Type)
		if option == "omitzero" {
			kind += " at times"
		} else if field.Type.Kind() == reflect.Pointer || inner != nil && inner.Name() == "jsonHotKey" {
			kind += " or null"
		}
		fields[path+name] = kind
		if inner != nil {
			fieldsOfType(inner, path+name+".", fields)
		}
	}
}

// kindOf returns the JSON type of a Go type, and the struct that it has within.
func kindOf(of reflect.Type) (kind string, inner reflect.Type) {
	switch {
	case of == reflect.TypeFor[time.Time]() || of.Kind() == reflect.String:
		return "string", nil
	case of.Kind() == reflect.Bool:
		return "boolean", nil
	case of.Kind() == reflect.Pointer:
		return kindOf(of.Elem())
	case of.Kind() == reflect.Slice:
		return "array", of.Elem()
	case of.Kind() == reflect.Struct:
		return "object", of
	}
	return "number", nil
}

// fieldsOfSchema adds the fields of an object of the schema as fieldsOfType does, and
// wants a description of each.
func fieldsOfSchema(t *testing.T, schema, object map[string]any, path string, fields map[string]string) {
	t.Helper()
	required := map[string]bool{}
	for _, name := range object["required"].([]any) {
		required[name.(string)] = true
	}
	for name, field := range object["properties"].(map[string]any) {
		field := field.(map[string]any)
		if text, _ := field["description"].(string); !strings.HasSuffix(text, ".") {
			t.Errorf("%s%s is not described", path, name)
		}
		kind, inner := kindOfSchema(schema, field)
		if !required[name] {
			kind += " at times"
		}
		delete(required, name)
		fields[path+name] = kind
		if inner != nil {
			fieldsOfSchema(t, schema, inner, path+name+".", fields)
		}
	}
	for name := range required {
		t.Errorf("%s%s is required, but there is no such field", path, name)
	}
}

func kindOfSchema(schema, field map[string]any) (kind string, inner map[string]any) {
	if name, ok := field["$ref"].(string); ok {
		defs := schema["$defs"].(map[string]any)
		return kindOfSchema(schema, defs[strings.TrimPrefix(name, "#/$defs/")].(map[string]any))
	}
	if choices, ok := field["anyOf"].([]any); ok {
		kind, inner = kindOfSchema(schema, choices[0].(map[string]any))
		return kind + " or null", inner
	}
	orNull := ""
	of := field["type"]
	if types, ok := of.([]any); ok {
		of, orNull = types[0], " or null"
	}
	switch of {
	case "array":
		_, inner = kindOfSchema(schema, field["items"].(map[string]any))
		return "array" + orNull, inner
	case "object":
		return "object" + orNull, field
	case "integer", nil: // nil is version, which is a constant
		return "number" + orNull, nil
	}
	return of.(string) + orNull, nil
}

var docLine = regexp.MustCompile(`^((?:\w+, )*\w+)(?: +(.*))?$`) // names, and what is said of them

// fieldsOfDoc returns the fields in the list of doc.go by path, each with the word
// behind it, or "" if there is none. Two spaces more are a level down, and a line may
// have several names.
func fieldsOfDoc(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n// # JSON\n")
	list, _, _ = strings.Cut(list, "\n// # Metrics\n")
	fields := map[string]string{}
	above := [][]string{{""}} // the paths that the next fields of a level are below
	var pending []string      // whose word is in the next line
	for line := range strings.Lines(list) {
		line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		if !ok {
			continue
		}
		rest := strings.TrimLeft(line, " ")
		level := (len(line) - len(rest)) / 2
		word := func(text string) string { return strings.TrimRight(strings.SplitN(text, " ", 2)[0], ",;s") }
		if level > 10 { // a text about the names before it
			for _, path := range pending {
				fields[path] = word(rest)
			}
			continue
		}
		parts := docLine.FindStringSubmatch(rest)
		if parts == nil {
			t.Fatalf("what does %q mean?", line)
		}
		pending = nil
		for _, parent := range above[level] {
			for name := range strings.SplitSeq(parts[1], ", ") {
				path := parent + name
				fields[path] = word(parts[2])
				pending = append(pending, path)
			}
		}
		above = append(above[:level+1], nil)
		for _, path := range pending {
			above[level+1] = append(above[level+1], path+".")
		}
	}
	return fields
}

// The documentation names exactly the metrics that are served.
func TestDocumentationNamesEveryMetric(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n// The metrics of caches are:\n")
	got := map[string]bool{}
	for line := range strings.Lines(list) {
		if names, ok := strings.CutPrefix(line, "//\t"); ok && strings.HasPrefix(names, "cache_") || strings.HasPrefix(names, "timingwheel_") {
			names, _, _ = strings.Cut(names, "  ")
			for name := range strings.SplitSeq(strings.TrimSpace(names), ", ") {
				name, _, _ = strings.Cut(name, "{")
				got[name] = true
			}
		}
	}
	var r stats.Registry
	r.Register("users", always(distinct(0)))
	r.RegisterWheel("users", always(distinctWheel(0)))
	want := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(r.Metrics(), -1) {
		want[m[1]] = true
	}
	if !maps.Equal(got, want) {
		t.Errorf("doc.go has %q\nwant %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}
