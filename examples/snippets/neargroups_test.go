package snippets

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A Customer belongs to a tenant.
type Customer struct{ Name, Tenant string }

// NearGroups is from docs/near.md.
func NearGroups(ctx context.Context, store near.Store, source near.Source) error {
	customers, err := near.New(store, source, near.Options[int64, Customer]{
		Prefix: "customers:",
		Groups: func(_ int64, c Customer) []string { return []string{"tenant:" + c.Tenant} },
	})
	if err != nil {
		return err
	}
	err = customers.DelGroup(ctx, "tenant:7") // after the commit
	return err
}
