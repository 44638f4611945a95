// Package browsertest drives the page in a real browser.
//
// What the package keeps true: a test that has no browser says so and is skipped, unless
// FAIRLEAD_BROWSER=require; a message on the console of the browser, as of the content security policy,
// fails the test; each test has a browser window of its own, and nothing is loaded from elsewhere.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds what is done in the browser, so that a test ends.
const patience = 2 * time.Minute

// Browser is a running browser.
type Browser struct {
	// open opens an empty window, and returns what works in it, and what closes it.
	open func(listen func(event any)) (tab, func())
}

// tab does something in a window; load waits for the page that this loads.
type tab struct {
	run  func(actions ...chromedp.Action) error
	load func(action chromedp.Action) error
}

// Window is a window of a browser.
type Window struct {
	t       *testing.T
	tab     tab
	mu      sync.Mutex
	console []string // what must not be there
}

// View is how a window shows pages.
type View struct {
	Width  int
	Dark   bool
	Script bool
}

// browserProgram returns the path of the browser; "" if there is none.
func browserProgram() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		found, err := exec.LookPath(name)
		if err == nil {
			return found
		}
	}
	return ""
}

// Start starts the browser of a test.
func Start(t *testing.T) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	program := browserProgram()
	if program == "" {
		if os.Getenv("FAIRLEAD_BROWSER") == "require" {
			t.Fatal("there is no chromium: apt-get install chromium")
		}
		t.Skip("there is no chromium, so that nothing is tested in a browser: apt-get install chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience) // of all that a test does, on a busy machine
	t.Cleanup(cancel)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profileOf(t)))
	allocated, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	first, closeFirst := chromedp.NewContext(allocated)
	t.Cleanup(closeFirst)
	if err := chromedp.Run(first); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return &Browser{func(listen func(event any)) (tab, func()) {
		window, closeWindow := chromedp.NewContext(first)
		chromedp.ListenTarget(window, listen)
		run := func(actions ...chromedp.Action) error { return chromedp.Run(window, actions...) }
		load := func(action chromedp.Action) error {
			_, err := chromedp.RunResponse(window, action)
			return err
		}
		return tab{run, load}, closeWindow
	}}
}

// profileOf returns a folder for what the browser remembers. Its processes may write there for a moment after
// the browser has ended.
func profileOf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fairlead-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			err := os.RemoveAll(dir)
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Error(err)
				return
			}
		}
	})
	return dir
}

// Open opens a window. What is on its console at the end fails the test.
func (b *Browser) Open(t *testing.T, v View) *Window {
	t.Helper()
	w := &Window{t: t}
	opened, closeTab := b.open(w.note)
	w.tab = opened
	theme := "light"
	if v.Dark {
		theme = "dark"
	}
	w.Run(log.Enable(), network.Enable(), page.BringToFront(), emulation.SetFocusEmulationEnabled(true), // a window behind others is slow
		emulation.SetDeviceMetricsOverride(int64(v.Width), 900, 1, v.Width < 600), emulation.SetScriptExecutionDisabled(!v.Script),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}))
	t.Cleanup(func() {
		closeTab()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.console) > 0 {
			t.Errorf("the console has %q", w.console)
		}
	})
	return w
}

// note notes what must not be on the console.
func (w *Window) note(event any) {
	text := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			text = fmt.Sprintf("%s %s", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			text = fmt.Sprint("console.", e.Type)
		}
	}
	if text != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.console = append(w.console, text)
	}
}

// forgive drops messages of the console that have one of some texts: the test has made them.
func (w *Window) forgive(texts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.console = slices.DeleteFunc(w.console, func(message string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(message, text) })
	})
}

// Run does what a person, or the browser, does.
func (w *Window) Run(actions ...chromedp.Action) {
	w.t.Helper()
	if err := w.tab.run(actions...); err != nil {
		w.t.Fatal(err)
	}
}

// Visit opens a page.
func (w *Window) Visit(url string) { w.t.Helper(); w.Run(chromedp.Navigate(url)) }

// Click follows the first link, or opens the first part, that a selector finds, and waits for the page.
func (w *Window) Click(selector string) {
	w.t.Helper()
	if err := w.tab.load(chromedp.Click(selector, chromedp.ByQuery)); err != nil {
		w.t.Fatalf("click %s: %v", selector, err)
	}
}

// Submit types a text into a field and sends its form.
func (w *Window) Submit(selector, text string) {
	w.t.Helper()
	if err := w.tab.load(chromedp.SendKeys(selector, text+"\r", chromedp.ByQuery)); err != nil {
		w.t.Fatalf("send %s: %v", selector, err)
	}
}

// WaitFor waits until what a selector finds has a text.
func (w *Window) WaitFor(selector, text string) {
	w.t.Helper()
	w.WaitUntil(fmt.Sprintf("(document.querySelector(%q) || {textContent: ''}).textContent.includes(%q)", selector, text))
}

// WaitUntil waits until an expression is true in the page.
func (w *Window) WaitUntil(expression string) {
	w.t.Helper()
	is := false
	for end := time.Now().Add(patience / 4); !is; time.Sleep(10 * time.Millisecond) {
		w.Ask(expression, &is)
		if !is && time.Now().After(end) {
			w.t.Fatalf("it is not so that %s on the page %s:\n%s", expression, w.Address(), w.Text("main"))
		}
	}
}

// Text returns the text of what a selector finds first; "" if there is none.
func (w *Window) Text(selector string) (text string) {
	w.t.Helper()
	w.Run(chromedp.Evaluate(fmt.Sprintf("(document.querySelector(%q) || {}).textContent || ''", selector), &text))
	return text
}

// Address returns the path of the page, with its query.
func (w *Window) Address() (address string) {
	w.t.Helper()
	w.Run(chromedp.Evaluate("location.pathname + location.search", &address))
	return address
}

// Ask evaluates an expression in the page.
func (w *Window) Ask(expression string, into any) {
	w.t.Helper()
	w.Run(chromedp.Evaluate(expression, into, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
}

// keepPicture writes what the window shows to a PNG file in the folder that FAIRLEAD_PICTURES names, to be looked at.
func (w *Window) keepPicture(name string) {
	w.t.Helper()
	dir := os.Getenv("FAIRLEAD_PICTURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), w.shoot(), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// shoot returns what the window shows, the whole page, as PNG.
func (w *Window) shoot() (data []byte) {
	w.t.Helper()
	w.Run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		data, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).Do(ctx)
		return err
	}))
	return data
}
