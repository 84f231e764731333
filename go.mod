module github.com/pinwheel-cache/pinwheel

go 1.25.0

require (
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.22.0
	pgregory.net/rapid v1.3.0
)
