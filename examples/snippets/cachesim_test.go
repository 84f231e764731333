package snippets

import (
	"context"
	"os"

	"github.com/pinwheel-cache/pinwheel/cache"
)

func Record(ctx context.Context, users *cache.Cache[int64, *User]) error {
	file, err := os.Create("users.recording")
	if err != nil {
		return err
	}

	err = users.Record(ctx, file, 64) // one key in 64, until ctx ends
	return err
}
