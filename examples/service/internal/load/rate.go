package load

import (
	"fmt"
	"strconv"
	"strings"
)

// maxRate is more than one process can both send and serve.
const maxRate = 100_000

// Rate is a number of requests per second. It is a [flag.Value]: "500/s" or "500".
type Rate int

func (r *Rate) String() string { return strconv.Itoa(int(*r)) + "/s" }

// Set parses a rate. On an error it leaves the rate unchanged.
func (r *Rate) Set(s string) error {
	n, err := strconv.Atoi(strings.TrimSuffix(s, "/s"))
	if err != nil || n < 0 || n > maxRate {
		return fmt.Errorf("want requests per second from 0 to %d, such as 500/s", maxRate)
	}
	*r = Rate(n)
	return nil
}
