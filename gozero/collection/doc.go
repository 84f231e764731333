// Package collection has the cache and the timing wheel of go-zero's package
// core/collection, with the same names and signatures, on top of the packages
// cache and timingwheel of this module. A program that uses those two changes its
// import from
//
//	"github.com/zeromicro/go-zero/core/collection"
//
// to
//
//	"github.com/pinwheel-cache/pinwheel/gozero/collection"
//
// and compiles. docs/go-zero.md of the library lists what then behaves differently, and
// why.
//
// The other types of go-zero's package (Queue, Ring, RollingWindow, SafeMap, Set)
// are not here.
package collection
