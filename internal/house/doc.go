// Package house has no code, only tests of the repository itself: that imports and the layers
// of package cache are those that CONTRIBUTING.md draws, that its tables are complete, and that
// documents name what exists.
package house
