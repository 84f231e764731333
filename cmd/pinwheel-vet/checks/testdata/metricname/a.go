package metricname

import (
	"fmt"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type user struct{ Name string }

func all(id int, configured string) []cache.Options[string, user] {
	return []cache.Options[string, user]{
		{Name: "users"},
		{Name: configured},
		{Name: "users" + "2"},
		{Name: "users-" + configured},       // want `the Name of a cache is a label of its metrics: want a constant`
		{Name: fmt.Sprintf("users-%d", id)}, // want `the Name of a cache`
	}
}

func others(id int) user { return user{Name: fmt.Sprint(id)} }
