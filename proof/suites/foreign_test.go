package suites

// The imports of the libraries keep them in go.mod. Those of the adapters make this test
// depend on all that they import, so that go test does not reuse a result after a change.
import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/stretchr/testify/assert"
	_ "github.com/zeromicro/go-zero/core/stores/cache"

	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/goroot"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/gozerocache"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/miniredis"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/otter"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/otterstats"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/redistest"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/sturdyc"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/time"
)
