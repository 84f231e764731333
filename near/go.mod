module github.com/pinwheel-cache/pinwheel/near

go 1.25.0

require (
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

replace github.com/pinwheel-cache/pinwheel => ../
