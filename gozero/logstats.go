package gozero

import "github.com/pinwheel-cache/pinwheel/gozero/internal/minutelog"

// LogStats logs a line for every cache of the process each minute, at level stat and
// in the format of go-zero's own caches:
//
//	cache(users) - qpm: 1200, hit_ratio: 97.5%, elements: 9100, hit: 1170, miss: 30
//
// The numbers are those of the last minute or, for a cache made within it, since it
// was made, even if it has the name of one that was closed. There is no line for a
// cache without traffic, nor for the minute in which a cache is closed.
//
// [NewCache] and the caches of gozero/collection call LogStats. A program that has only
// caches of package cache calls it after it has made them. While lines are logged, calling
// it again does nothing. It is safe for concurrent use.
//
// There is no goroutine between the lines. The lines end when the process has no cache
// any more, and begin again with the next call.
func LogStats() { minutelog.Process.Start() }
