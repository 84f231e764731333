//go:build unix

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

var screenshots = flag.String("screenshots", "", "existing `directory` for pictures that TestPageInABrowser takes")

// looks are the windows in which each view of the page must fit.
var looks = []struct {
	name, scheme string
	width        int64
}{{"light", "light", 1400}, {"dark", "dark", 1400}, {"phone", "light", 360}}

// TestPageInABrowser opens the statistics of the running service, under load, in
// Chromium.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts a browser")
	}
	chromium := findChromium(t)
	service := launch(t, built(t), "-port", "0", "-db", filepath.Join(t.TempDir(), "users.db"), "-load", "300/s")
	b := openBrowser(t, chromium)
	page := service.url() + "/cache" // leads to /cache/

	b.do("the overview", chromedp.Navigate(page), chromedp.WaitVisible(`tr[data-name="users"]`))
	b.until("the numbers move", `numberOf('tr[data-name="users"] [data-field="windows.1m.gets_per_second"]') > 10`)
	t.Run("equal to the JSON", func(t *testing.T) {
		b.t = t
		b.equal(service.url(), "overview", 10)
		b.visit("#/cache/users", `figure[data-chart="hit-ratio"]`)
		b.until("the hits grow", `(window.first ??= numberOf('[data-field="hits"]')) < numberOf('[data-field="hits"]')`)
		b.equal(service.url(), "users", 50)
	})
	t.Run("words", func(t *testing.T) {
		b.t = t
		for _, words := range []string{"Since ", " on ", "last minute", "99 % within", "requests"} {
			b.until("it says "+words, fmt.Sprintf(`document.body.textContent.includes(%q)`, words))
		}
		b.until("no word of the JSON", `!/p99|Windows 1m|_seconds|In all/i.test(document.querySelector('.sheets').textContent)`)
		b.until("settings are there", `['lru', '5.0\u00a0%', '5.00\u00a0min'].join() === ['policy', 'jitter', 'expire_seconds']
			.map((name) => document.querySelector('[data-field="settings.' + name + '"]').textContent).join()`)
		b.until("the hit ratio of a point is of all its gets", `import('./state.js').then(({state}) => [...state.points.caches.values()].flat().every((p) =>
			p.gets === p.hits + p.misses_absent + p.misses_expired + p.misses_evicted))`)
		b.until("nothing partial is drawn", `import('./state.js').then(({state}) => ![...state.points.caches.values()].flat().some((p) => p.partial))`)
		b.until("a finding is text", `import('./state.js').then(({state, show}) => {
			state.json.caches.find((c) => c.name === 'users').findings = [{cause: 'limit too small', words: 'It is <b>too</b> small.'}];
			show();
			return document.querySelector('.findings').textContent === 'It is <b>too</b> small.';
		})`)
	})
	t.Run("charts", func(t *testing.T) {
		b.t = t
		for _, chart := range []string{"hit-ratio", "requests", "entries", "removals", "load", "tombstones"} {
			b.until(chart+" has a curve", fmt.Sprintf(`document.querySelector('figure[data-chart="%s"] svg.chart path.line').getAttribute('d') > ''`, chart))
		}
		const heights = `['callbacks', 'refreshes'].map((id) => document.querySelector('figure[data-chart="' + id + '"]').offsetHeight > 0).join()`
		b.until("no room for callbacks without OnRemove", heights+` === 'false,true'`)
		b.visit("#/cache/sessions", `figure[data-chart="callbacks"]`)
		b.until("no room for refreshes without Refresh", heights+` === 'true,false'`)
		b.visit("#/cache/users", `figure[data-chart="hit-ratio"]`)
		b.do("a cursor by keys", chromedp.Focus(`figure[data-chart="requests"] svg.chart`), chromedp.KeyEvent(kb.Home))
		b.until("all charts have the cursor", `[...document.querySelectorAll('figure:not([hidden]) path.cursor')].every((c) => c.style.display !== 'none')`)
		b.do("no cursor", chromedp.KeyEvent(kb.Escape))
	})
	t.Run("near", func(t *testing.T) {
		b.t = t
		const charts = `const charts = [...document.querySelectorAll('figure[data-chart^="near-"]')];`
		b.until("other caches have no charts of near caches", charts+`charts.length === 4 && charts.every((f) => f.hidden)`)
		b.until("near caches have them", `import('./state.js').then(({state, show}) => {
			const near = {remote_hits: 1, fetches: 2, bypasses: 3, waits: 4, changes: 5, reconnects: 6, lag_seconds: 0.2, max_lag_seconds: 1};
			state.json.caches.find((c) => c.name === 'users').near = near;
			state.points.caches.get('users').forEach((p) => p.near = near);
			show();
			`+charts+`
			return charts.every((f) => !f.hidden && f.querySelector('svg.chart path.line').getAttribute('d') > '');
		})`)
	})
	t.Run("pause", func(t *testing.T) {
		b.t = t
		b.do("key p", chromedp.KeyEvent("p"))
		b.until("it is paused", `document.body.dataset.state === 'paused'`)
		b.do("key p", chromedp.KeyEvent("p"))
		b.until("it goes on", `document.body.dataset.state === 'live' && (window.paused ??= document.body.dataset.updated) < document.body.dataset.updated`)
	})
	t.Run("purge", func(t *testing.T) {
		b.t = t
		b.do("a key that is not there", chromedp.SendKeys(`form [aria-label="Key"]`, "nonsense\r"))
		b.until("it says what is wrong", `document.querySelector('form output').textContent.includes('want an int64')`)
	})
	t.Run("purge by prefix", func(t *testing.T) {
		b.t = t
		b.visit("#/cache/sessions", `form [aria-label="Prefix"]`)
		b.do("a prefix that no key has", chromedp.SendKeys(`form [aria-label="Prefix"]`, "nobody"))
		b.until("it says how many", `(window.asked ??= [...document.querySelectorAll('form button')].find((b) => b.textContent === 'Purge by prefix').click() ?? 1) &&
			document.querySelector('form output').textContent === 'Removed 0.'`)
	})
	t.Run("views", func(t *testing.T) {
		b.t = t
		for _, view := range []struct{ hash, shows, name string }{
			{"#/", `tr[data-name="users"]`, "overview"},
			{"#/cache/users", `figure[data-chart="hit-ratio"]`, "cache"},
			{"#/cache/sessions", `figure[data-chart="hit-ratio"]`, "sessions"},
			{"#/cache/nobody", `.notice`, "gone"},
		} {
			for _, look := range looks {
				b.look(look.width, look.scheme)
				b.visit(view.hash, view.shows)
				b.until(view.name+" "+look.name+": nothing is wider than the window", `document.documentElement.scrollWidth <= innerWidth`)
				b.picture(view.name + "-" + look.name)
			}
		}
	})
	t.Run("wheel", func(t *testing.T) {
		b.t = t
		reminders, err := timingwheel.New(time.Second, 60, func(string, string) {}, timingwheel.WithName("reminders"))
		if err != nil {
			t.Fatal(err)
		}
		defer reminders.Stop()
		if err := reminders.SetTimer("tea", "the tea is ready", time.Hour); err != nil {
			t.Fatal(err)
		}
		page := httptest.NewServer(stats.Handler())
		defer page.Close()
		b.do("the overview lists it", chromedp.Navigate(page.URL+"/"), chromedp.WaitVisible(`tr[data-name="reminders"]`))
		b.visit("#/wheel/reminders", `figure[data-chart="timers"]`)
		for _, look := range looks {
			b.look(look.width, look.scheme)
			b.until(look.name+": nothing is wider than the window", `document.documentElement.scrollWidth <= innerWidth`)
			b.picture("wheel-" + look.name)
		}
		b.do("back to the service", chromedp.Navigate(service.url()+"/cache/"), chromedp.WaitVisible(`tr[data-name="users"]`))
	})
	t.Run("a narrow overview", func(t *testing.T) {
		b.t = t
		b.look(390, "light")
		b.visit("#/", `tr[data-name="users"]`)
		b.until("the headings are a select", `getComputedStyle(document.querySelector('thead')).display === 'none' &&
			document.querySelector('select[aria-label="Sort caches by"]').offsetHeight > 0`)
		b.until("a card has three numbers", `[...document.querySelectorAll('tr[data-name="users"] td')].filter((td) => td.offsetHeight).length === 3`)
		b.until("the select sorts", `import('./state.js').then(({state}) => {
			const select = document.querySelector('select[aria-label="Sort caches by"]');
			select.value = 0;
			select.onchange();
			return state.sort.caches.column === 0 && !state.sort.caches.down;
		})`)
		b.look(1280, "light")
		b.until("a wide one fits", `document.documentElement.scrollWidth <= 1280 &&
			[...document.querySelectorAll('.list')].every((l) => l.getBoundingClientRect().right <= 1280)`)
	})
	b.t = t
	b.do("back", chromedp.Navigate(page+"/#/"), chromedp.WaitVisible(`tr[data-name="users"]`))
	t.Run("misses of every reason", func(t *testing.T) {
		b.t = t
		get[int](b, `window.answer = fetch; window.fetch = async (...all) => {
			const json = await (await answer(...all)).json();
			const users = json.caches.find((c) => c.name === 'users');
			users.history.forEach((p) => Object.assign(p, {hits: 1, misses_absent: 1, misses_expired: 1, misses_evicted: 1}));
			users.findings = [{cause: 'loads fail', severity: 'trouble', words: 'Loads fail.'}];
			return new Response(JSON.stringify(json));
		}; 0`)
		b.until("a quarter hits", `import('./state.js').then(({state}) => state.points.caches.get('users').some((p) => p.hit_ratio === 0.25))`)
		b.until("what hurts is counted", `document.querySelector('.summary button').textContent.startsWith('1 of ')`)
		b.until("a cause stands out", `document.querySelector('tr[data-name="users"] .bad[data-field="findings.0.cause"]')?.textContent === 'loads fail'`)
	})
	b.t = t
	b.report()
	service.stop(syscall.SIGTERM)
	b.until("it says that there is no answer", `document.body.dataset.state === 'stale'`)
	b.forget() // a missing user is an error in the console
}

// findChromium returns the program. CI installs it.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("NOT TESTED: the page in a browser. There is no chromium, chromium-browser or google-chrome; on Debian, apt-get install chromium")
	return ""
}

// A browser is one tab of Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	wrong []string // errors of scripts, of the network, and of the page's policy
}

// openBrowser starts Chromium, which ends with the test.
func openBrowser(t *testing.T, program string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root with a sandbox
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	b := &browser{t: t, ctx: ctx}
	heard := make(chan struct{})
	console := chromedp.Console(ctx)
	go func() {
		defer close(heard)
		b.hear(console)
	}()
	t.Cleanup(func() {
		b.report()
		cancel()
		<-heard
	})
	return b
}

// hear records the errors of the console.
func (b *browser) hear(console iter.Seq2[chromedp.ConsoleMessage, error]) {
	for m, err := range console {
		if err != nil {
			return // the end
		}
		// A refused purge is part of the test.
		if (m.Type == chromedp.ConsoleError || m.IsException()) && !strings.HasSuffix(m.URL, "/purge") {
			b.mu.Lock()
			b.wrong = append(b.wrong, m.Text+" "+m.URL)
			b.mu.Unlock()
		}
	}
}

// report reports the errors up to now.
func (b *browser) report() {
	b.t.Helper()
	for _, w := range b.forget() {
		b.t.Errorf("in the console: %s", w)
	}
}

// forget returns the errors up to now and removes them.
func (b *browser) forget() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	wrong := b.wrong
	b.wrong = nil
	return wrong
}

func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// get returns the value of an expression, which may be a promise.
func get[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for an expression to be true. In it, numberOf returns the exact number that the
// page shows at a place.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	const numberOf = `const numberOf = (where) => Number(document.querySelector(where).dataset.value);`
	for begin := time.Now(); !get[bool](b, "{ "+numberOf+expression+" }"); {
		if time.Since(begin) > patience {
			b.t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// look sets the width of the window and the preferred colours.
func (b *browser) look(width int64, scheme string) {
	b.t.Helper()
	b.do("window", chromedp.EmulateViewport(width, 900))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
}

// visit opens a view of the page.
func (b *browser) visit(hash, shows string) {
	b.t.Helper()
	get[string](b, `location.hash = '`+hash+`'`)
	b.do(hash, chromedp.WaitVisible(shows))
}

// equal lets the page show one answer and compares each number with it.
func (b *browser) equal(url, view string, atLeast int) {
	b.t.Helper()
	// The page asks as usual, and the answer is kept too.
	get[int](b, `
		window.ask ??= fetch;
		window.fetch = async (...all) => {
			const answer = await ask(...all);
			window.kept = answer.clone().text();
			return answer;
		}; 0`)
	b.until("an answer is kept", `Boolean(window.kept)`)
	shown := get[struct {
		Text   string
		Fields []struct{ Name, Field, Value string }
	}](b, `(async () => {
		for (;; await new Promise((done) => setTimeout(done, 50))) {
			const text = await kept;
			if (JSON.parse(text).time !== document.body.dataset.updated) continue;
			const fields = [...document.querySelectorAll('[data-field][data-value]')].map((node) => ({
				name: node.closest('[data-name]').dataset.name, field: node.dataset.field, value: node.dataset.value}));
			return {text, fields};
		}
	})()`)
	var answer struct{ Caches, Wheels []map[string]any }
	if err := json.Unmarshal([]byte(shown.Text), &answer); err != nil {
		b.t.Fatal(err)
	}
	byName := map[string]map[string]any{}
	for _, s := range append(answer.Caches, answer.Wheels...) {
		byName[s["name"].(string)] = s
	}
	compared := 0
	for _, f := range shown.Fields {
		want, ok := lookUp(byName[f.Name], strings.Split(f.Field, "."))
		got, err := strconv.ParseFloat(f.Value, 64)
		if !ok {
			continue // the page computes it itself
		}
		if compared++; err != nil || got != want {
			b.t.Errorf("%s: %s %s is %s, and in the JSON %v", view, f.Name, f.Field, f.Value, want)
		}
	}
	if compared < atLeast {
		b.t.Errorf("%s: %d numbers of the page are in the JSON, want %d", view, compared, atLeast)
	}
}

// lookUp returns the number at a path.
func lookUp(v any, path []string) (number float64, ok bool) {
	for _, step := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(in) {
				return 0, false
			}
			v = in[i]
		default:
			return 0, false
		}
	}
	number, ok = v.(float64)
	return number, ok
}

// picture saves the whole view if pictures are wanted.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
