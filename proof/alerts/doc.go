// Package alerts runs caches and timing wheels through incidents, in fake time, and has
// Prometheus' own engine evaluate the rules of docs/alerts.yaml on what they report. It
// is a module of its own, as that engine requires a hundred others.
package alerts
