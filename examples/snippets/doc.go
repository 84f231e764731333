// Package snippets has the Go code of the README, of docs/ and of comments, so that it is compiled,
// with what the reader is to imagine around it. TestSnippets in the root compares.
package snippets
