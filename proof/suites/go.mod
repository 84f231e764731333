module github.com/pinwheel-cache/pinwheel/proof/suites

go 1.25.0

require (
	github.com/hashicorp/golang-lru/v2 v2.0.7
	github.com/patrickmn/go-cache v2.1.0+incompatible
	github.com/pinwheel-cache/pinwheel v0.0.0
	golang.org/x/sync v0.22.0
)

replace github.com/pinwheel-cache/pinwheel => ../..
