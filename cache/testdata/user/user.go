// Package user uses a cache of one type.
package user

import "github.com/pinwheel-cache/pinwheel/cache"

type key struct{ a, b int }

var C = cache.Must(cache.Options[key, int]{Limit: 10})
