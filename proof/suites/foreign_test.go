package suites

// The imports of the libraries keep them in go.mod. Those of the adapters make this test
// depend on all that they import, so that go test does not reuse a result after a change.
import (
	_ "github.com/hashicorp/golang-lru/v2"
	_ "github.com/patrickmn/go-cache"
	_ "github.com/stretchr/testify/assert"
	_ "github.com/zeromicro/go-zero/core/stores/cache"
	_ "golang.org/x/sync/singleflight"

	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/context"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/expirable"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/gocache"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/goroot"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/gozerocache"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/lru"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/miniredis"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/redistest"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/singleflight"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/sync"
	_ "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/time"
)
