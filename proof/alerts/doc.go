// Package alerts runs caches and timing wheels through incidents, in fake time, and has
// Prometheus' own engine evaluate the rules of docs/alerts.yaml and the board of
// docs/grafana.json on what they report. promtool runs the unit tests of the rules. It is
// a module of its own, as these require some hundreds of others.
package alerts
