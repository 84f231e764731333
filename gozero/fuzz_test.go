package gozero_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/gozero"
)

// FuzzConf reads any YAML as settings. It must give an error with a text, or a cache that
// follows the settings.
func FuzzConf(f *testing.F) {
	f.Add("Name: users\nLimit: 10\nExpire: 5m\nIdle: 1h30m\nJitter: 0.1\nWorkers: 3\nHotKeys: 20\nAges: true\nWhatIf: true\n")
	f.Add("Name: users\nExpire: 60\n")
	f.Fuzz(func(t *testing.T, yaml string) {
		var c gozero.Conf
		if err := loadYAML(yaml, &c); err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		made, err := gozero.NewCache[string, int](c)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "gozero: cache ") {
				t.Errorf("the error %v does not say which cache", err)
			}
			return
		}
		made.Set("a", 1)
		if v, ok := made.Peek("a"); !ok || v != 1 {
			t.Errorf("Peek returns %d, %v with %+v", v, ok, c)
		}
		if s := made.Stats(); s.Limit != c.Limit || made.Len() != 1 {
			t.Errorf("the limit is %d, with %d entries, and the settings %+v", s.Limit, made.Len(), c)
		}
		if err := made.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
