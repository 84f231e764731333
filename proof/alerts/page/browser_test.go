package page

import (
	"context"
	"encoding/json"
	"flag"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// patience bounds the wait for what must happen, on however slow a machine.
const patience = time.Minute

var screenshots = flag.String("screenshots", "", "existing `directory` for pictures of the page")

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
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program := findChromium(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root with a sandbox
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
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

// run runs a subtest, which is told of all failures meanwhile.
func (b *browser) run(name string, test func()) {
	outer := b.t
	defer func() { b.t = outer }()
	outer.Run(name, func(t *testing.T) { b.t = t; test() })
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
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media)
	settle.Must(b.t, err)
}

// visit opens a view of the page.
func (b *browser) visit(hash, shows string) {
	b.t.Helper()
	get[string](b, `location.hash = '`+hash+`'`)
	b.do(hash, chromedp.WaitVisible(shows))
}

// equal lets the page show one answer and compares each number with it.
func (b *browser) equal(view string, atLeast int) {
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
	settle.Must(b.t, json.Unmarshal([]byte(shown.Text), &answer))
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
	settle.Must(b.t, err)
	settle.Must(b.t, os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644))
}
