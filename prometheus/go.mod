module github.com/pinwheel-cache/pinwheel/prometheus

go 1.25.0

require (
	github.com/pinwheel-cache/pinwheel v0.0.0
	github.com/prometheus/client_golang v1.19.1
	github.com/prometheus/common v0.48.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.2.0 // indirect
	github.com/prometheus/client_model v0.5.0 // indirect
	github.com/prometheus/procfs v0.12.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.17.0 // indirect
	google.golang.org/protobuf v1.33.0 // indirect
)

replace github.com/pinwheel-cache/pinwheel => ../
