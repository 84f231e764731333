package stats

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// tunables are the fields of the form of tune, in the order in which mistakes are named.
var tunables = []struct {
	name, want string
	set        func(t *sources.Tuning, text string) error
}{
	{"expire", wantTime, func(t *sources.Tuning, text string) error { return setTime(&t.Expire, text) }},
	{"grace", wantTime, func(t *sources.Tuning, text string) error { return setTime(&t.Grace, text) }},
	{"patience", wantTime, func(t *sources.Tuning, text string) error { return setTime(&t.Patience, text) }},
	{"max_loads", "the most loads at once, or 0 for no limit", func(t *sources.Tuning, text string) (err error) { t.MaxLoads, err = strconv.Atoi(text); return err }},
	{"bypass", "1, or 0 to end it", func(t *sources.Tuning, text string) (err error) { t.Bypass, err = strconv.ParseBool(text); return err }},
}

const wantTime = "a time with a unit, such as 90s or 5m, or 0 for none"

func setTime(to *time.Duration, text string) (err error) {
	*to, err = time.ParseDuration(text)
	return err
}

// setTuning sets in t what the form has, and returns all mistakes in it.
func setTuning(t *sources.Tuning, form map[string][]string) (wrong []string) {
	unknown := maps.Clone(form)
	delete(unknown, "cache")
	for _, field := range tunables {
		texts := form[field.name]
		if len(texts) > 1 || len(texts) == 1 && field.set(t, texts[0]) != nil {
			wrong = append(wrong, fmt.Sprintf("%s is %q: want %s", field.name, shorten(strings.Join(texts, " ")), field.want))
		}
		delete(unknown, field.name)
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		wrong = append(wrong, fmt.Sprintf("there is no field %q: want expire, grace, patience, max_loads or bypass", shorten(name)))
	}
	return wrong
}

// serveTune changes options of a cache, and answers with what holds then.
func serveTune(w http.ResponseWriter, r *http.Request, name string, c sources.Cache[Snapshot]) *refusal {
	if c.Tune == nil {
		return refuse(http.StatusBadRequest, "options of cache %q cannot be changed", name)
	}
	if wrong := setTuning(new(sources.Tuning), r.PostForm); len(wrong) > 0 {
		return refuse(http.StatusBadRequest, "%s", strings.Join(wrong, "; "))
	}
	now, ok, err := c.Tune(func(t *sources.Tuning) { setTuning(t, r.PostForm) })
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	case !ok:
		return refuse(http.StatusNotFound, "there is no cache %q", name)
	}
	answerJSON(w, http.StatusOK, map[string]any{
		"expire_seconds": now.Expire.Seconds(), "grace_seconds": now.Grace.Seconds(), "patience_seconds": now.Patience.Seconds(),
		"max_loads": now.MaxLoads, "bypass": now.Bypass,
	})
	return nil
}
