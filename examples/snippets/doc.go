// Package snippets has the Go code of the README and of docs/, so that it is compiled,
// with what the reader is to imagine around it. TestSnippets in the root compares.
package snippets
