package stats_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/stats"
)

var update = flag.Bool("update", false, "write docs/stats.schema.json and docs/metrics.txt anew")

const schemaFile = "../docs/stats.schema.json"

// readSchema returns the schema as a document.
func readSchema(t testing.TB) map[string]any {
	t.Helper()
	var schema map[string]any
	must(t, json.Unmarshal([]byte(readFile(t, schemaFile)), &schema))
	return schema
}

// checkFile compares a file with what it should be, or writes it.
func checkFile(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(name, want, 0o644))
		return
	}
	if readFile(t, name) != string(want) {
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

// docs/metrics.txt lists the metrics.
//
// Catches: a metric that it does not have.
func TestDocumentationListsTheMetrics(t *testing.T) {
	checkFile(t, "../docs/metrics.txt", []byte(`Metrics, as "go test ./stats -update" writes them: what /metrics serves, and what the modules
otel and prometheus collect. /metrics has those marked ?all=1 only with that query.

A level is a gauge whose sum over all caches has a meaning. A cache has metrics of a limit,
weights, hot keys, estimates and package near only if it has these.

Of caches. Each has the label cache, in OpenTelemetry pinwheel.cache.name.

`+listOf(stats.Metrics[stats.Snapshot]())+`Of timing wheels. Each has the label wheel, in OpenTelemetry pinwheel.timingwheel.name.

`+listOf(stats.Metrics[stats.WheelSnapshot]())+`Of the process, without a label, at /metrics only.

`+strings.TrimSuffix(strings.Join(stats.ProcessMetrics(), ""), "\n")))
}

// listOf returns a paragraph for each metric: the names in Prometheus and OpenTelemetry, what it is,
// and the labels with their values.
func listOf[S any](metrics []stats.Metric[S]) string {
	var list strings.Builder
	for _, m := range metrics {
		switch {
		case m.Name == "" && m.Path == "":
			continue
		case m.Name == "":
			list.WriteString("OpenTelemetry only: " + m.Path)
		case m.Path == "":
			list.WriteString("Prometheus only: " + m.Name)
		default:
			list.WriteString(m.Name + ", " + m.Path)
		}
		request := ""
		if m.OnRequest() {
			request = ", ?all=1"
		}
		fmt.Fprintf(&list, "%s\n\t%s, %s. %s\n", request, m.Kind, m.Unit, m.Help)
		if label, values := m.Labels(); label != "" {
			fmt.Fprintf(&list, "\t%s, %s: %s.\n", label, m.Attribute, strings.Join(values, ", "))
		}
		list.WriteString("\n")
	}
	return list.String()
}
