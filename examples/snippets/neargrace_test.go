package snippets

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// NearGrace is from docs/near.md.
func NearGrace(store near.Store, source near.Source) (*near.Cache[int64, User], error) {
	users, err := near.New(store, source, near.Options[int64, User]{
		Prefix:   "users:",
		Expire:   time.Minute,
		Refresh:  0.8,                    // from 48 s on, one instance fetches it anew
		Grace:    time.Hour,              // the store keeps it for an hour more
		Patience: 200 * time.Millisecond, // a caller waits this long for a fetch before it gets the old value
		MaxLoads: 20,                     // fetches at once, in each instance
	})
	return users, err
}
