package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// press types a key that no field is to get.
func (w *Window) press(key string) { w.t.Helper(); w.Run(chromedp.KeyEvent(key)) }

// useKeys goes through the page without a mouse.
func useKeys(t *testing.T, w *Window, root string) {
	w.Visit(root + "/")
	w.WaitFor("time", "ago")
	w.press("?")
	w.WaitUntil(`document.querySelector("dialog").open`)
	checkAccessible(t, w, "the list of shortcuts")
	w.press("\x1b")
	w.WaitUntil(`!document.querySelector("dialog").open`)
	w.press("g")
	w.press("c")
	w.WaitUntil(`location.pathname === "/commits" && document.readyState === "complete"`)
	w.WaitFor("time", "ago")
	w.press("j")
	w.press("j")
	w.WaitUntil(`document.activeElement.getAttribute("href") === "./commits/` + older + `"`)
	w.press("k")
	w.WaitUntil(`document.activeElement.getAttribute("href") === "./commits/` + newest + `"`)
	w.press("\r")
	w.WaitUntil(`location.pathname === "/commits/` + newest + `" && document.readyState === "complete"`)
	w.WaitFor("time", "ago")
	w.press("e")
	w.WaitUntil(`location.pathname === "/explain" && document.readyState === "complete"`)
	w.press("l") // nobody may do anything here
	w.WaitUntil(`document.activeElement.id === "main"`)
	for key, path := range map[string]string{"o": "/", "f": "/fleet", "p": "/problems"} {
		w.press("g")
		w.press(key)
		w.WaitUntil(`location.pathname === "` + path + `" && document.readyState === "complete"`)
		w.WaitUntil(`document.documentElement.dataset.live === "on"`) // the script runs
	}
	w.press("/")
	w.WaitUntil(`document.activeElement.name === "q" && document.activeElement.closest("header") !== null`)
	w.press("g") // which is typed there
	w.press("o")
	var typed string
	w.Ask(`document.activeElement.value`, &typed)
	if !strings.HasSuffix(typed, "go") { // a test types the key that a shortcut has taken, too
		t.Errorf("typed is %q", typed)
	}
	isOpen := func() (open bool) { w.Ask(`document.querySelector("nav .more").open`, &open); return open }
	for name, leave := range map[string]func(){"Escape": func() { w.press("\x1b") }, "a click elsewhere": func() { w.Run(chromedp.Click(`header [role="search"] input`, chromedp.ByQuery)) }} {
		w.Run(chromedp.Click("nav .more summary", chromedp.ByQuery))
		if !isOpen() {
			t.Errorf("the menu of more pages does not open")
		}
		leave()
		if isOpen() {
			t.Errorf("%s does not close the menu of more pages", name)
		}
	}
}

// tabThrough goes through all that can be focused, by Tab alone: in the order of the page, each with an outline, in the
// window, and not below the head.
func tabThrough(t *testing.T, w *Window, root string) {
	w.Visit(root + "/environments/prod")
	w.WaitFor("time", "ago")
	var count int
	w.Ask(`window.seen = [], window.all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")].filter(e => e.checkVisibility()),
		document.addEventListener("focusin", e => seen.push(e.target)), all.length`, &count)
	w.Run(chromedp.KeyEvent(strings.Repeat("\t", count)))
	var wrong []string
	w.Ask(`(seen.length === all.length ? [] : [seen.length + " of " + all.length]).concat(all.filter((e, i) => seen[i] !== e).map(e => "not in its turn: " + e.outerHTML.slice(0, 120)))
		.concat(all.filter(e => {
			e.focus();
			const style = getComputedStyle(e), box = e.getBoundingClientRect();
			const there = document.elementFromPoint(box.x + Math.min(box.width / 2, 100), box.y + box.height / 2);
			return style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2 || !there || !(e.contains(there) || there.contains(e));
		}).map(e => "not seen: " + e.outerHTML.slice(0, 120)))`, &wrong)
	if len(wrong) > 0 || count < 15 {
		t.Errorf("of %d, %q", count, wrong)
	}
	var first string
	w.Ask(`seen[0].textContent`, &first)
	if first != "To the content" {
		t.Errorf("first one comes to %q", first)
	}
}

// printPage prints a page: times are absolute, and the foot says what it is and when.
func printPage(t *testing.T, w *Window, root string) {
	w.Visit(root + "/environments/prod")
	w.WaitFor("main time", "ago")
	w.Run(emulation.SetEmulatedMedia().WithMedia("print"))
	w.WaitUntil(`[...document.querySelectorAll("main time")].every(e => /^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/.test(e.textContent))`)
	w.WaitUntil(`document.querySelector(".printed").checkVisibility() && document.querySelector(".printed").textContent.startsWith(location.href + ", printed 20")`)
	var shown bool
	w.Ask(`document.querySelector("body > header").checkVisibility()`, &shown)
	if shown {
		t.Error("the head is printed")
	}
	w.Run(emulation.SetEmulatedMedia().WithMedia(""))
	w.WaitFor("main time", "ago")
}

// seeForcedColors looks at the overview with the colors of the system: states still have outlines, and marks are seen.
func seeForcedColors(t *testing.T, w *Window, root string) {
	w.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}))
	w.Visit(root + "/")
	var lost []string
	w.Ask(`[...document.querySelectorAll("main .tag, main .graph .box, main .graph .mark")].filter(e => {
		const style = getComputedStyle(e);
		const isOutlined = style.borderTopWidth === "1px" || style.stroke !== "none" && style.stroke !== style.fill;
		return !matchMedia("(forced-colors: active)").matches || !isOutlined;
	}).map(e => e.outerHTML.slice(0, 80))`, &lost)
	if len(lost) > 0 {
		t.Errorf("with forced colors nobody sees %q", lost)
	}
}

// changeView chooses a theme, pauses changes, and turns the shortcuts off: pages are so from then on, and
// nothing else is remembered.
func changeView(t *testing.T, w *Window, root string) {
	ground := func() (color string) {
		w.Ask("getComputedStyle(document.body).backgroundColor", &color)
		return color
	}
	w.Visit(root + "/settings")
	light := ground()
	checkAccessible(t, w, "/settings")
	w.Run(chromedp.Click(`input[value="dark"]`, chromedp.ByQuery), chromedp.Click(`input[name="keys"][value="off"]`, chromedp.ByQuery))
	w.Click("main button")
	if dark := ground(); dark == light {
		t.Errorf("dark pages are %s as light ones are", dark)
	}
	w.Visit(root + "/problems?q=LOG")
	w.press("g")
	w.press("c")
	w.Run(chromedp.Click("nav .more summary", chromedp.ByQuery))
	w.Click(`nav button[name="live"]`)
	if got := w.Address(); got != "/problems?q=LOG" {
		t.Errorf("to pause leads to %s", got)
	}
	var is bool
	w.Ask(`document.documentElement.dataset.page === "" && document.querySelector("dialog") === null && document.documentElement.dataset.theme === "dark"`, &is)
	if !is {
		t.Errorf("the page does not remember its settings")
	}
	w.WaitFor("header", "Paused")
	w.Visit(root + "/settings")
	for _, name := range []string{"theme", "live", "keys"} {
		w.Run(chromedp.Click(`input[name="`+name+`"]`, chromedp.ByQuery))
	}
	w.Click("main button")
	if again := ground(); again != light {
		t.Errorf("pages that are light again are %s, and were %s", again, light)
	}
}
