package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
	"github.com/pinwheel-cache/pinwheel/stats"
)

type object = map[string]any

// newFleet returns what fleet.json has of instances with caches. Of cache 7 instance 3 is sick, of cache 5
// instance 2 has a finding, and the last instance does not answer.
func newFleet(instances, caches int) object {
	var all []object
	for i := range instances {
		one := object{"peer": fmt.Sprintf("http://10.0.0.%d:8080/cache/", i), "host": fmt.Sprintf("users-5d8f7c9b4-%05d", i), "program": "users", "error": "",
			"self": i == 0, "process": object{"pid": 1, "version": "v1.2.3", "started": "2026-01-02T03:04:05Z"}}
		if i == instances-1 {
			one["error"] = "no answer in 2 s"
			all = append(all, one)
			continue
		}
		var shown []object
		for c := range caches {
			minute := object{"hits": 900 + i, "misses": 100, "hit_ratio": 0.9, "loads": 100, "loads_failed": i % 2, "loads_timed_out": 0, "load_p99_seconds": 0.01, "wait_p99_seconds": 0.02}
			cache := object{"name": fmt.Sprintf("cache of %d", c), "entries": 500, "limit": 1000, "findings": []object{}, "windows": object{"1m": minute}}
			if c == 7 && i == 3 {
				minute["hit_ratio"], minute["loads_failed"], minute["load_p99_seconds"] = 0.4, 60, 1.5
			}
			if c == 5 && i == 2 {
				cache["findings"] = []object{{"cause": "loads <b>fail</b>", "words": "They fail.", "level": "critical"}, {"cause": "over", "level": "critical", "ended_seconds": 9}}
			}
			if c == 9 && i == 0 {
				cache["windows"] = object{} // of an old version
			}
			shown = append(shown, cache)
		}
		one["caches"] = shown
		all = append(all, one)
	}
	return object{"error": "", "instances": all}
}

// TestFleetInABrowser: what differs most is first, of few instances and of many, and nothing is wider than
// the window.
func TestFleetInABrowser(t *testing.T) {
	size := [2]int{30, 60}
	web := http.NewServeMux()
	web.Handle("/cache/", stats.Handler(stats.WithPeers(func(context.Context) ([]string, error) { return nil, nil })))
	web.HandleFunc("/cache/fleet.json", func(w http.ResponseWriter, _ *http.Request) {
		settle.Must(t, json.NewEncoder(w).Encode(newFleet(size[0], size[1])))
	})
	server := httptest.NewServer(web)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b := openBrowser(t)
	b.do("the overview", chromedp.Navigate(server.URL+"/cache/"), chromedp.WaitVisible(`#fleet`))
	b.visit("#/fleet", `details[open] tbody tr`)
	const names = `const names = (where) => [...document.querySelectorAll(where)].map((e) => e.dataset.name);`
	b.until("the caches that differ are first, and alone unfolded", names+`names('details').slice(0, 3).join() === 'cache of 5,cache of 7,cache of 0' &&
		names('details[open]').join() === 'cache of 5,cache of 7' && names('details').length === 60`)
	b.until("so are the instances", names+`names('[data-name="cache of 5"] tbody tr')[0].includes('0.0.2') && names('[data-name="cache of 7"] tbody tr')[0].includes('0.0.3') && names('tbody tr').length === 10`)
	b.until("who it is", `['users-5d8f7c9b4-00002:8080', '2026', 'v1.2.3', 'loads <b>fail</b>'].every((word) => document.querySelector('[data-name="cache of 5"] tr[data-name]').textContent.includes(word))`)
	b.until("what differs", `document.querySelector('[data-name="cache of 7"] tr[data-name]').textContent.includes('hit ratio differs, share of failed loads differs, load time differs')`)
	b.until("what is over is not there", `!document.querySelector('details').textContent.includes('over')`)
	b.until("who does not answer", `document.querySelector('.findings').textContent === 'http://10.0.0.29:8080/cache/: no answer in 2 s'`)
	b.until("where it leads", `[...document.querySelectorAll('[data-name="cache of 5"] a')].some((a) => a.href === 'http://10.0.0.2:8080/cache/#/cache/cache%20of%205')`)
	b.until("a folded cache has no rows before it is unfolded", names+`const last = [...document.querySelectorAll('details')].at(-1); last.open ||= names('details:last-child tbody tr').length === 0; last.querySelectorAll('tbody tr').length === 5`)
	b.until("all instances", `const last = [...document.querySelectorAll('details')].at(-1); last.lastChild.click(); last.querySelectorAll('tbody tr').length === 29 && last.lastChild.hidden`)
	b.until("what an old version does not say", `const words = (i) => [...document.querySelectorAll('[data-name="cache of 9"] [data-name="http://10.0.0.' + i + ':8080/cache/"] td')].map((cell) => cell.textContent);
		words(0).slice(0, 2).join() === '–,–' && words(1).slice(0, 2).join().replace('\u00a0', ' ') === '90.0 %,1,001'`)
	b.until("it is asked again", `performance.getEntriesByType('resource').filter((e) => e.name.endsWith('fleet.json')).length > 1`)
	for _, look := range []struct {
		name, scheme string
		width        int64
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"phone", "dark", 380}} {
		b.look(look.width, look.scheme)
		b.until(look.name+": nothing is wider than the window", `document.documentElement.scrollWidth <= innerWidth`)
		b.picture("fleet-" + look.name)
	}
}

// TestPurgeOfTheFleetInABrowser: the box purges the store and the other instance; without it only this one.
func TestPurgeOfTheFleetInABrowser(t *testing.T) {
	store := memory.New()
	var all [2]*near.Cache[string, string]
	for i := range all {
		c, err := near.New[string, string](store, store, near.Options[string, string]{Name: fmt.Sprint("users ", i), MaxLag: 300 * time.Millisecond})
		settle.Must(t, err)
		t.Cleanup(func() { settle.Must(t, c.Close(context.Background())) })
		all[i] = c
	}
	store.WaitFor(len(all))
	settle.Must(t, all[0].Set(t.Context(), "ann", "Ann"))
	_, _, err := all[1].Get(t.Context(), "ann")
	settle.Must(t, err)
	server := httptest.NewServer(stats.Handler(stats.WithOperators(func(*http.Request) error { return nil })))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b := openBrowser(t)
	b.do("the cache", chromedp.Navigate(server.URL+"/#/cache/users%200"), chromedp.WaitVisible(`form [aria-label="Key"]`))
	purge := func(said string) {
		b.do("a key", chromedp.SetValue(`form [aria-label="Key"]`, ""), chromedp.SendKeys(`form [aria-label="Key"]`, "ann\r"))
		b.until("it says "+said, fmt.Sprintf(`document.querySelector('output').textContent.startsWith(%q)`, said))
	}
	purge("Removed ")
	if all[1].Stats().Entries == 0 {
		t.Error("without the box the other instance has lost the key")
	}
	b.do("the fleet", chromedp.Click(`form:has([aria-label="Key"]) [name="fleet"]`))
	purge("Removed 1.")
	if value, ok, err := all[1].Get(t.Context(), "ann"); ok || err != nil {
		t.Errorf("with it the other instance has %q, %v", value, err)
	}
}
