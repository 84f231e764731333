// Package before has the "before" blocks of docs/migration.md, as they compile.
package before
