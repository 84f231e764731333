package stats_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

var update = flag.Bool("update", false, "write docs/stats.schema.json and the metrics in doc.go anew")

const schemaFile = "../docs/stats.schema.json"

// readSchema returns the schema as a document.
func readSchema(t testing.TB) map[string]any {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	must(t, err)
	var schema map[string]any
	must(t, json.Unmarshal(text, &schema))
	return schema
}

// checkFile compares a file with what it should be, or writes it.
func checkFile(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(name, want, 0o644))
		return
	}
	got, err := os.ReadFile(name)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the metrics say: run go test ./stats -update, and look at the difference", name)
	}
}

// The schema has every number, with the sentence of its metric.
//
// Catches: a number whose name, type or sentence in the schema is not that of stats.json.
func TestSchemaHasEveryNumber(t *testing.T) {
	schema := readSchema(t)
	defs := schema["$defs"].(map[string]any)
	for _, n := range stats.JSONNumbers() {
		object := defs[n.Object].(map[string]any)
		path := strings.Split(n.Path, ".")
		for _, name := range path[:len(path)-1] {
			object = objectAt(t, schema, object, name)
		}
		setNumber(object, path[len(path)-1], n)
	}
	text := new(bytes.Buffer)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	must(t, encoder.Encode(schema))
	checkFile(t, schemaFile, text.Bytes())
}

// objectAt returns the object in a field of an object. Objects are described by hand.
func objectAt(t *testing.T, schema, object map[string]any, name string) map[string]any {
	t.Helper()
	field, ok := object["properties"].(map[string]any)[name].(map[string]any)
	if !ok {
		t.Fatalf("the schema does not describe the object %q: write what it has in common", name)
	}
	_, inner := kindOfSchema(schema, field)
	return inner
}

// setNumber describes a number in an object. It leaves bounds alone.
func setNumber(object map[string]any, name string, n stats.JSONNumber) {
	properties := object["properties"].(map[string]any)
	field, ok := properties[name].(map[string]any)
	if !ok {
		field = map[string]any{}
		properties[name] = field
		object["required"] = append(object["required"].([]any), name)
	}
	field["type"], field["description"] = n.Type, n.Says
	if _, ok := field["exclusiveMinimum"]; !ok && n.Type != "boolean" {
		field["minimum"] = 0
	}
}

// Beside the numbers, the schema has the fields of the types.
//
// Catches: a field in only one of them.
func TestSchemaNamesEveryField(t *testing.T) {
	schema := readSchema(t)
	numbers := map[string][]string{}
	for _, n := range stats.JSONNumbers() {
		first, _, _ := strings.Cut(n.Path, ".") // fields of an object of numbers are all numbers
		numbers[n.Object] = append(numbers[n.Object], first)
	}
	defs := maps.Clone(schema["$defs"].(map[string]any))
	defs[""] = schema
	for name, of := range stats.JSONTypes {
		want := fieldsOfType(of)
		if name == "" { // they are written one after another
			want["caches"], want["wheels"] = "array", "array"
		}
		got := fieldsOfSchema(t, schema, defs[name].(map[string]any), name)
		if name == "cache" { // as are these
			want["windows"] = "object"
		}
		if name == "cache" || name == "wheel" {
			want["history"] = "array at times"
		}
		for _, number := range numbers[name] {
			delete(got, number)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s\n got %v\nwant %v", name, got, want)
		}
	}
}

// fieldsOfType returns the fields of a struct, each with the type that it has in JSON.
func fieldsOfType(of reflect.Type) map[string]string {
	fields := map[string]string{}
	for _, field := range reflect.VisibleFields(of) {
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		kind := kindOf(field.Type)
		if option == "omitzero" {
			kind += " at times"
		} else if field.Type.Kind() == reflect.Pointer || name == "hot_keys" {
			kind += " or null"
		}
		fields[name] = kind
	}
	return fields
}

// kindOf returns the JSON type of a Go type.
func kindOf(of reflect.Type) string {
	switch {
	case of == reflect.TypeFor[time.Time]() || of.Kind() == reflect.String:
		return "string"
	case of.Kind() == reflect.Bool:
		return "boolean"
	case of.Kind() == reflect.Pointer:
		return kindOf(of.Elem())
	case of.Kind() == reflect.Slice:
		return "array"
	case of.Kind() == reflect.Struct:
		return "object"
	}
	return "number"
}

// fieldsOfSchema returns the fields of an object of the schema as fieldsOfType does, and
// wants a description of each.
func fieldsOfSchema(t *testing.T, schema, object map[string]any, path string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	required := map[string]bool{}
	for _, name := range object["required"].([]any) {
		required[name.(string)] = true
	}
	for name, field := range object["properties"].(map[string]any) {
		field := field.(map[string]any)
		if text, _ := field["description"].(string); !strings.HasSuffix(text, ".") {
			t.Errorf("%s.%s is not described", path, name)
		}
		kind, _ := kindOfSchema(schema, field)
		if !required[name] {
			kind += " at times"
		}
		delete(required, name)
		fields[name] = kind
	}
	for name := range required {
		t.Errorf("%s.%s is required, but there is no such field", path, name)
	}
	return fields
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

// The documentation of the package lists the metrics.
//
// Catches: a metric that it does not have.
func TestDocumentationListsTheMetrics(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	must(t, err)
	text := string(doc)
	for heading, list := range map[string]string{
		"// The metrics of caches are:\n//\n":                                   listOf(stats.CacheMetrics()),
		"// The metrics of timing wheels have the label wheel. They are:\n//\n": listOf(stats.WheelMetrics()),
	} {
		before, after, ok := strings.Cut(text, heading)
		if !ok {
			t.Fatalf("doc.go has no heading %q", heading)
		}
		for strings.HasPrefix(after, "//\t") { // the list as it is
			_, after, _ = strings.Cut(after, "\n")
		}
		text = before + heading + list + after
	}
	checkFile(t, "doc.go", []byte(text))
}

// listOf returns the lines about metrics: the names for Prometheus and for OpenTelemetry, with
// the values of the label, and what they mean.
func listOf[S any](metrics []stats.Metric[S]) string {
	kinds := map[stats.Kind]string{stats.KindCounter: "counter", stats.KindLevel: "level", stats.KindGauge: "gauge", stats.KindHistogram: "histogram"}
	var list strings.Builder
	for _, m := range metrics {
		if m.Name == "" && m.Path == "" {
			continue
		}
		fmt.Fprintf(&list, "//\t%s%s %s\n", cmp.Or(m.Name, "-"), ofLabel(m.Label, m.Labels()), kinds[m.Kind])
		fmt.Fprintf(&list, "//\t  %s%s, in %s\n", cmp.Or(m.Path, "-"), ofLabel(m.Attribute, m.Labels()), m.Unit)
		fmt.Fprintf(&list, "//\t    %s\n", m.Help)
	}
	return list.String()
}

func ofLabel(label string, values []string) string {
	if label == "" {
		return ""
	}
	return "{" + label + "=" + strings.Join(values, "|") + "}"
}

// Each metric that is served is in the list once, and says what it is.
func TestMetricsAreDescribed(t *testing.T) {
	checkMetrics(t, "cache_", "pinwheel.cache.", stats.CacheMetrics())
	checkMetrics(t, "timingwheel_", "pinwheel.timingwheel.", stats.WheelMetrics())
}

func checkMetrics[S any](t *testing.T, name, path string, metrics []stats.Metric[S]) {
	var names []string
	for _, m := range metrics {
		if m.Name != "" && !strings.HasPrefix(m.Name, name) || m.Path != "" && !strings.HasPrefix(m.Path, path) {
			t.Errorf("%q and %q: want names that begin with %q and %q", m.Name, m.Path, name, path)
		}
		if m.Name == "" && m.Path == "" {
			continue // only for Minus
		}
		if (m.Label == "") != (m.Attribute == "") || (m.Label == "") != (len(m.Labels()) == 0) {
			t.Errorf("%s: label %q, attribute %q and %d values", m.Name, m.Label, m.Attribute, len(m.Labels()))
		}
		if strings.HasSuffix(m.Name, "_total") != (m.Kind == stats.KindCounter) {
			t.Errorf("%s: the name of a counter, and of nothing else, ends in _total", m.Name)
		}
		if !strings.HasSuffix(m.Help, ".") || m.Unit == "" || m.Kind == 0 {
			t.Errorf("%s: help %q, unit %q, kind %d", m.Name, m.Help, m.Unit, m.Kind)
		}
		for _, n := range []string{m.Name, m.Path} {
			if n != "" && slices.Contains(names, n) {
				t.Errorf("%s is there twice", n)
			}
			names = append(names, n)
		}
	}
}
