// This file makes the compiler inline methods of Cache in the programs that use it.

package cache

// A program that uses a generic type compiles its methods itself, and inlines there
// only what this package has inlined somewhere: of functions of other packages, the
// compiler passes on no others. This package has no Cache of its own to inline them
// in, so it names the methods of one. (A Get takes a fifth more without; see
// BenchmarkGet in package bench, which looks from outside.) Nothing of it is left in
// a program.
var (
	_ = (*Cache[int, int]).Get
	_ = (*Cache[int, int]).see
	_ = (*Cache[int, int]).Set
	_ = (*Cache[int, int]).Touch
)
