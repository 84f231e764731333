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

func (h *handler) serveTune(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	now, refused := h.tune(r)
	if refused != nil {
		refused.answer(w)
		return
	}
	answerJSON(w, http.StatusOK, struct {
		Expire   float64 `json:"expire_seconds"`
		Grace    float64 `json:"grace_seconds"`
		Patience float64 `json:"patience_seconds"`
		MaxLoads int     `json:"max_loads"`
		Bypass   bool    `json:"bypass"`
	}{now.Expire.Seconds(), now.Grace.Seconds(), now.Patience.Seconds(), now.MaxLoads, now.Bypass})
}

// tune does what r asks for, if authorized, and returns what holds then.
func (h *handler) tune(r *http.Request) (now sources.Tuning, refused *refusal) {
	const want = "want the field cache, and those to change, form-encoded: curl -d 'cache=users&max_loads=10'"
	if refused := h.mayPost(r, "options are changed", want); refused != nil {
		return now, refused
	}
	form := r.PostForm // not from the URL, which ends up in logs
	name := form.Get("cache")
	c, ok := h.registered.cacheOf(name)
	wrong := setTuning(new(sources.Tuning), form)
	switch {
	case len(form["cache"]) != 1:
		return now, refuse(http.StatusBadRequest, want)
	case ok && c.Tune == nil:
		return now, refuse(http.StatusBadRequest, "options of cache %q cannot be changed", name)
	case ok && len(wrong) == 0:
		var err error
		if now, ok, err = c.Tune(func(t *sources.Tuning) { setTuning(t, form) }); err != nil {
			wrong = []string{strings.ReplaceAll(err.Error(), "\n", "; ")}
		}
	}
	switch {
	case !ok:
		return now, refuse(http.StatusNotFound, "there is no cache %q", shorten(name))
	case len(wrong) > 0:
		return now, refuse(http.StatusBadRequest, "%s", strings.Join(wrong, "; "))
	}
	return now, nil
}
