// Package testdata has programs before and after they moved.
package testdata

import (
	_ "github.com/pinwheel-cache/pinwheel/cache"
	_ "github.com/pinwheel-cache/pinwheel/gozero/collection"
)
