package acceptance

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestWhichTake finds out which Take honours what, and compares that with the table in the
// documentation of package cache and with that of docs/freshness.md.
//
// Catches: a table that says something else than the code does.
func TestWhichTake(t *testing.T) {
	inDoc, inPage := tableOfDoc(t), tableOfPage(t)
	for name, take := range takes {
		got := []string{
			honoursContext(t, take),
			honoursRefresh(t, take),
			honoursGrace(t, take),
			honoursTimeout(t, take),
		}
		if want := strings.Join(got, " | "); inDoc[name] != want || inPage[name] != want {
			t.Errorf("%s: %s\nin cache/doc.go: %s\nin docs/freshness.md: %s", name, want, inDoc[name], inPage[name])
		}
	}
	if len(inDoc) != len(takes) || len(inPage) != len(takes) {
		t.Errorf("the tables have %v and %v", inDoc, inPage)
	}
}

// tableOfDoc returns the rows of the table in doc.go. At least two spaces are between cells.
func tableOfDoc(t *testing.T) map[string]string {
	return table(t, "../doc.go", `(?m)^//\t((?:Take|Fetch)\S*(?: \S+)*) {2,}(.*)$`, ` {2,}`)
}

// tableOfPage returns the rows of the table in docs/freshness.md.
func tableOfPage(t *testing.T) map[string]string {
	return table(t, "../../docs/freshness.md", "(?m)^\\| (`(?:Take|Fetch)[^|]*)\\| (.*) \\|$", ` \| `)
}

func table(t *testing.T, file, row, between string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	settle.Must(t, err)
	rows := map[string]string{}
	for _, m := range regexp.MustCompile(row).FindAllStringSubmatch(string(text), -1) {
		for _, name := range regexp.MustCompile(`(?:Take|Fetch)\w*`).FindAllString(m[1], -1) {
			rows[name] = strings.Join(regexp.MustCompile(between).Split(strings.ReplaceAll(m[2], "`", ""), -1), " | ")
		}
	}
	return rows
}

const old, fresh = 1, 2

// after returns a load that takes so long, whatever its context says, and then returns fresh or
// an error.
func after(d time.Duration, err error) loading {
	return func(context.Context) (int, error) { time.Sleep(d); return fresh, err }
}

// honoursContext says what the end of the caller's context does.
func honoursContext(t *testing.T, take taking) (says string) {
	synctest.Test(t, func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := take(ctx, c, "k", after(time.Minute, nil))
		says = "none"
		if time.Since(began) == time.Second && errors.Is(err, context.DeadlineExceeded) {
			says = "ends the wait"
		}
		time.Sleep(time.Hour)
	})
	return says
}

// honoursRefresh says whether a value that is due is loaded anew.
func honoursRefresh(t *testing.T, take taking) (says string) {
	synctest.Test(t, func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Expire: time.Minute, Refresh: 0.5})
		c.Set("k", old)
		time.Sleep(40 * time.Second)
		if v, err := take(t.Context(), c, "k", after(0, nil)); v != old || err != nil {
			t.Errorf("a value that is due: %d, %v", v, err)
		}
		synctest.Wait()
		says = "no"
		if v, _ := c.Peek("k"); v == fresh {
			says = "yes"
		}
	})
	return says
}

// honoursGrace says when a value in grace stands in.
func honoursGrace(t *testing.T, take taking) string {
	inGrace := func(patience time.Duration, load loading) (v int, waited time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			c := New(t, cache.Options[string, int]{Expire: time.Minute, Grace: time.Hour, Patience: patience})
			c.Set("k", old)
			time.Sleep(2 * time.Minute)
			began := time.Now()
			v, _ = take(t.Context(), c, "k", load)
			waited = time.Since(began)
			time.Sleep(time.Hour)
		})
		return v, waited
	}
	const patience, slow = time.Second, time.Minute
	errDown := errors.New("down")
	v, waited := inGrace(0, after(slow, nil))
	atOnce := v == old && waited == 0
	v, waited = inGrace(patience, after(slow, nil))
	patiently := v == old && waited == patience
	v, waited = inGrace(patience, after(patience/2, errDown))
	failed := v == old && waited == patience/2
	switch {
	case !failed:
		return "no"
	case atOnce && patiently:
		return "at once, or within Patience"
	case atOnce:
		return "at once; with Patience, after a failed load"
	}
	return "after a failed load"
}

// honoursTimeout says whether Timeout ends a call: one that loads, one that waits for the load
// of another, and one that waits for a permit of MaxLoads.
func honoursTimeout(t *testing.T, take taking) string {
	const timeout = time.Second
	ends := func(beside string) bool {
		var at time.Duration
		synctest.Test(t, func(t *testing.T) {
			c := New(t, cache.Options[string, int]{Timeout: timeout, MaxLoads: 1})
			if beside != "" {
				go func() { _, _ = c.TakeCtx(t.Context(), beside, after(time.Minute, nil)) }()
				synctest.Wait()
			}
			began := time.Now()
			_, err := take(t.Context(), c, "k", after(time.Minute, nil))
			if at = time.Since(began); at == timeout && !errors.Is(err, cache.ErrTimeout) {
				t.Errorf("the error at the Timeout is %v", err)
			}
			time.Sleep(time.Hour)
		})
		return at == timeout
	}
	own, others, permit := ends(""), ends("k"), ends("another key")
	switch {
	case own && others && permit:
		return "yes"
	case others && permit:
		return "all but its own fetch"
	}
	return "no"
}
