// Package migration has no code of its own. Its tests compile the blocks of
// docs/migration.md, run each pair of them with the same steps, and show the
// differences that the document claims.
package migration
