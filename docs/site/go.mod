module github.com/pinwheel-cache/pinwheel/docs/site

go 1.25.0

require (
	github.com/alecthomas/chroma/v2 v2.21.1
	github.com/yuin/goldmark v1.8.7
	github.com/yuin/goldmark-highlighting/v2 v2.0.0-20230729083705-37449abec8cc
	golang.org/x/net v0.57.0
)

require github.com/dlclark/regexp2 v1.11.5 // indirect
