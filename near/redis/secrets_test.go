package redis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// TestSecretsAreNotPrinted: neither an error nor a verb of package fmt shows the password.
func TestSecretsAreNotPrinted(t *testing.T) {
	const secret = "hunter2"
	for _, addr := range []string{"redis://user:hunter2@127.0.0.1:1", "user:hunter2@127.0.0.1:1", ":hunter2@127.0.0.1:1"} {
		_, err := redis.New(t.Context(), redis.Options{Client: rueidis.ClientOption{InitAddress: []string{addr}}, Prefixes: []string{"user:"}})
		if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "MustParseURL") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	o := redis.Options{
		Client:            rueidis.ClientOption{InitAddress: []string{"127.0.0.1:1"}, Username: "user", Password: secret},
		Prefixes:          []string{"user:"},
		StartWithoutRedis: true,
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := redis.New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{r, o, &o, struct{ Redis *redis.Redis }{r}, []redis.Options{o}} {
			if shown := fmt.Sprintf(verb, value); strings.Contains(shown, secret) {
				t.Errorf("%s of a %T: %s", verb, value, shown)
			}
		}
	}
	if got, want := r.String(), `near/redis: 127.0.0.1:1, prefixes ["user:"]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
