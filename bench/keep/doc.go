// Package keep has benchmarks of snapshots: saving and restoring a million entries, compared with
// otter and theine; and Gets during a Save.
//
//	cd bench && go test ./keep -run '^$' -bench . -benchtime 1x -count 6 | benchstat -
//
// All contenders of a benchmark run in one process, one after another and again for
// every count: compare them within a run, not between machines.
package keep
