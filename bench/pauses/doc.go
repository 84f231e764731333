// Package pauses measures the longest operations: Sets of a cache that grows, and Gets
// while it is cleared or its entries expire.
package pauses
