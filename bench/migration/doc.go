// Package migration tests docs/migration.md: it shows the differences that the document
// claims. In its comments "there" is the other library, and "here" this one.
package migration
