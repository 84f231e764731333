// Served shows its statistics.
package main

import (
	"net/http"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func main() {
	http.Handle("/cache/", stats.Handler())
	println(http.ListenAndServe("127.0.0.1:0", nil))
}
