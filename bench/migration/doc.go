// Package migration tests docs/migration.md: it runs the code before and after each switch
// with the same steps, and shows the differences that the document claims. In its comments
// "there" is the other library, and "here" this one.
package migration
