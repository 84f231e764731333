module github.com/pinwheel-cache/pinwheel/near/redis

go 1.25.0

require (
	github.com/pinwheel-cache/pinwheel v0.0.0
	github.com/redis/rueidis v1.0.79
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.22.0
	pgregory.net/rapid v1.3.0
)

require golang.org/x/sys v0.47.0 // indirect

replace github.com/pinwheel-cache/pinwheel => ../..
