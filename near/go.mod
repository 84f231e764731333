module github.com/pinwheel-cache/pinwheel/near

go 1.25.0

require (
	github.com/pinwheel-cache/pinwheel v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

require golang.org/x/sync v0.22.0 // indirect

replace github.com/pinwheel-cache/pinwheel => ../
