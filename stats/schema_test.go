package stats_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

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
			object = objectAt(t, defs, object, name)
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
func objectAt(t *testing.T, defs, object map[string]any, name string) map[string]any {
	t.Helper()
	field, ok := object["properties"].(map[string]any)[name].(map[string]any)
	if !ok {
		t.Fatalf("the schema does not describe the object %q: write what it has in common", name)
	}
	if choices, ok := field["anyOf"].([]any); ok { // the object, or null
		field = choices[0].(map[string]any)
	}
	if name, ok := field["$ref"].(string); ok {
		field = defs[strings.TrimPrefix(name, "#/$defs/")].(map[string]any)
	}
	return field
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
