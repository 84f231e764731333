// Package codec has ready-made ways to turn entries of a cache into bytes and
// back, for its Save and Restore:
//
//	encode, decode := codec.JSON[string, *User]()
//	err := users.SaveFile(ctx, "users.cache", encode)
//
// JSON and Gob see exported fields only; what a type keeps in others is lost
// without an error. For types where that matters, and where speed does, write the
// two functions by hand: one that appends to a slice need not allocate.
package codec
