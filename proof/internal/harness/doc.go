// Package harness is what the tests of this module share: caches made in one line,
// fake time, calls that may block, and checks that say what they wanted.
package harness
