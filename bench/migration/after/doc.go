// Package after has the "after" blocks of docs/migration.md, as they compile.
package after
