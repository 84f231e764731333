// Package migration has no code of its own. Its tests run the code before and after each
// switch of docs/migration.md with the same steps, and show the differences that the
// document claims.
package migration
