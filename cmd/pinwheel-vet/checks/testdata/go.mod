module testdata

go 1.25.0

replace github.com/pinwheel-cache/pinwheel => ../../../..

replace github.com/pinwheel-cache/pinwheel/near => ../../../../near

require (
	github.com/pinwheel-cache/pinwheel v0.0.0
	github.com/pinwheel-cache/pinwheel/near v0.0.0
)

require golang.org/x/sync v0.22.0 // indirect
