package page

import (
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// TestTemplates: every template can be read.
func TestTemplates(t *testing.T) {
	for _, name := range []string{"overview", "environments", "cluster", "cluster-type", "environment", "problems", "commits", "commit", "health", "explain", "diff", "pull", "search", "settings", "missing", "fleet", "workloads", "workload", "assignment", "history", "figures"} {
		if _, err := loadTemplate(templateKey{name: name, root: "../"}); err != nil {
			t.Error(err)
		}
	}
}

// TestLink: links lead to pages of web servers alone, and tell no password.
func TestLink(t *testing.T) {
	for raw, want := range map[string]string{
		"https://git.example.com/a/b/pull/1": "https://git.example.com/a/b/pull/1",
		"http://localhost:3000/x?y=z#w":      "http://localhost:3000/x?y=z#w",
		"HTTPS://git.example.com/":           "https://git.example.com/",
		"javascript:alert(1)":                "",
		"data:text/html,x":                   "",
		"ssh://git@git.example.com/a":        "",
		"git@git.example.com:a/b":            "",
		"https://user:secret@example.com/":   "",
		"https:///path":                      "",
		"//example.com/":                     "",
		"/srv/git":                           "",
		"http://%zz/":                        "",
		"":                                   "",
	} {
		if got := safeLink(raw); got != want {
			t.Errorf("link(%q) is %q, want %q", raw, got, want)
		}
	}
}

// TestWords: times are exact, since the script makes them relative, and durations short.
func TestWords(t *testing.T) {
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.FixedZone("", 3600))
	if got, want := plainTime(at)+" "+exactTime(at), "Mon 2026-11-23 09:00 UTC 2026-11-23T09:00:00Z"; got != want {
		t.Errorf("the time is %s, want %s", got, want)
	}
	for d, want := range map[time.Duration]string{0: "0 ms", 1500 * time.Millisecond: "1.5 s", 75400 * time.Millisecond: "1m15s"} {
		if got := elapsedText(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{1: "The only stack is not like that.", 4: "None of the 4 stacks is like that."} {
		if got := noneLikeThat(n, "stack"); got != want {
			t.Errorf("none of %d: %q, want %q", n, got, want)
		}
	}
	for _, named := range []bool{false, true} { // a time is said once
		if got := mayChange(gate.Verdict{Reason: "it waits", ValidUntil: at, NamesTime: named}); got == named {
			t.Errorf("where the reason names the time: %v, that it may change is said: %v", named, got)
		}
	}
}

// TestRoot: pages find the root of the site wherever a proxy has it.
func TestRoot(t *testing.T) {
	for path, want := range map[string]string{"/": "./", "/commits?q=a/b": "./", "/commits/4a9a": "../", "/environments/a%2Fb": "../"} {
		if got := findRoot(path); got != want {
			t.Errorf("the root of %s is %s, want %s", path, got, want)
		}
	}
}

// TestSentences: messages of programs have commits, times and commands as the rest of a page has them.
func TestSentences(t *testing.T) {
	commit, digest := strings.Repeat("4be1c2d0", 5), strings.Repeat("1a0d2d3b", 8)
	at := `<time datetime="2026-11-23T11:09:00Z" title="2026-11-23T11:09:00Z">Mon 2026-11-23 11:09 UTC</time>`
	link := `<a href="../commits/` + commit + `" title="Less &lt;noise&gt;, by alice"><code>4be1c2d</code></a>`
	known := []status.Commit{{ID: commit, Subject: "Less <noise>", Author: "alice"}}
	for message, want := range map[string]string{
		"it has dev@sha1:" + commit + ", which is not one of ours":                                            "it has dev@sha1:" + link + ", which is not one of ours",
		"waits: 4be1c2d is not merged in dev":                                                                 "waits: " + link + " is not merged in dev",
		"merge it, or run fairlead approve dev " + commit + " --removals: it removes web":                     "merge it, or run <code>fairlead approve dev " + commit + " --removals</code>: it removes web",
		"fairlead pr list --all lists those":                                                                  "<code>fairlead pr list --all</code> lists those",
		"see fairlead check -e dev, and more":                                                                 "see <code>fairlead check -e dev</code>, and more",
		"fairlead merges it":                                                                                  "fairlead merges it",
		"latest@sha256:" + digest:                                                                             "latest@sha256:1a0d2d3",
		"it was last in touch at 2026-11-23T11:09:00Z, and is not expected":                                   "it was last in touch at " + at + ", and is not expected",
		"since 2026-11-23T12:09:00+01:00":                                                                     "since " + at,
		"write it as 2026-12-24, 2026-12-24T18:00:00+01:00, 36h or 7d; or since 2026-11-23T11:09:00Z":         "write it as 2026-12-24, 2026-12-24T18:00:00&#43;01:00, 36h or 7d; or since " + at,
		`it is "2026-11-23T11:09:00Z", and is written as 2026-11-23T11:09:00Z`:                                `it is &#34;2026-11-23T11:09:00Z&#34;, and is written as 2026-11-23T11:09:00Z`,
		`"web" is at 2026-11-23T11:09:00Z`:                                                                    `&#34;web&#34; is at ` + at,
		"2026-99-99T99:99:99Z is no time":                                                                     "2026-99-99T99:99:99Z is no time",
		"defaced, 0a77d15, " + commit + "ff are no commits of the base":                                       "defaced, 0a77d15, " + commit + "ff are no commits of the base",
		"<f-commit>4be1c2d</f-commit> <f-name></f-name>":                                                      "&lt;f-commit&gt;" + link + "&lt;/f-commit&gt; &lt;f-name&gt;&lt;/f-name&gt;",
		"0 assignments: see https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/add-a-workload.md.": `0 assignments: see <a href="https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/add-a-workload.md">add a workload</a>.`,
		"1048576 bytes are too many, feedbed":                                                                 "1048576 bytes are too many, feedbed",
		"nobody said fairlead hold prod while the team is away":                                               "nobody said fairlead hold prod while the team is away",
		"https://evil.example.com/fairlead-io/fairlead/x":                                                     "https://evil.example.com/fairlead-io/fairlead/x",
		"": "",
	} {
		kept, err := Render(Frame{Path: "/x/y", Commits: known}, answer.Inbox{Items: []answer.InboxItem{{Need: answer.Need{Reason: message}}}})
		if err != nil {
			t.Fatal(err)
		}
		body, _ := kept.For(Reader{Name: "alice"})
		_, rest, _ := strings.Cut(string(body), `</span> <bdi>`)
		got, _, _ := strings.Cut(rest, "</bdi></span></li>")
		if got != want {
			t.Errorf("%q is\n%s\nwant\n%s", message, got, want)
		}
	}
	for message, want := range map[string]string{"fairlead pr list lists them": "fairlead pr list lists them.", "there is none": "There is none.", "is it?": "Is it?", "": "",
		"c6f0341 may not enter stage": "c6f0341 may not enter stage.", "prod had none": "prod had none.", "prod-eu had none": "prod-eu had none.", "dev@c6f: no output": "dev@c6f: no output.", "there is no prod-eu": "There is no prod-eu.",
	} {
		if got := formatSentence(message, "prod"); got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
}

// TestPreview: the message of a commit that an action will write cannot show its words in another order.
func TestPreview(t *testing.T) {
	kept, err := Render(Frame{Path: "/levers/promote"}, answer.Lever{Lever: "promote", Environment: "prod", Question: "Promote?", Message: "Promote \u202eeno"})
	if err != nil {
		t.Fatal(err)
	}
	body, _ := kept.For(Reader{})
	if !strings.Contains(string(body), "Promote  eno</pre>") {
		t.Errorf("the preview is\n%s", body)
	}
}

// TestFleetOfStacks: where there are stacks alone, the fleet leads to them, and does not ask for policies.
func TestFleetOfStacks(t *testing.T) {
	for stacks, want := range map[int]string{0: "no policy selects", 1: `there is <a href="./stacks">1 stack</a>`, 2: `there are <a href="./stacks">2 stacks</a>`} {
		kept, err := Render(Frame{Path: "/fleet", Stacks: stacks}, Fleet{Environments: []string{"dev"}})
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := kept.For(Reader{}); !strings.Contains(string(body), want) {
			t.Errorf("the fleet beside %d stacks does not say %s:\n%s", stacks, want, body)
		}
	}
}

// TestReaders: what speaks of the reader is that of each one, in a page that is kept for all of them.
func TestReaders(t *testing.T) {
	kept, err := Render(Frame{Path: "/", SignedIn: true, Acts: true}, answer.Overview{})
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]bool{}
	for _, r := range []Reader{{"Alice", "1"}, {"Bob", "1"}, {"Bob", "2"}, {`<b>"x"</b><f-waiting></f-waiting>`, "3"}} {
		body, version := kept.For(r)
		html := string(body)
		if versions[version] || !strings.Contains(html, `data-version="`+version+`"`) {
			t.Errorf("%v: the version %s is that of another page", r, version)
		}
		versions[version] = true
		if !strings.Contains(html, `<bdi>`+template.HTMLEscapeString(r.Name)+`</bdi>`) || !strings.Contains(html, "For me: "+r.Waiting+"</a>") || strings.Contains(html, "<f-") {
			t.Errorf("%v is not in\n%s", r, html)
		}
	}
	again, _ := kept.For(Reader{"Alice", "1"})
	if strings.Contains(string(again), "Bob") {
		t.Error("the kept page has the name of a reader")
	}
}

// TestLeversOf: what the reader has just done to a pull request is not offered once more.
func TestLeversOf(t *testing.T) {
	e := status.Environment{Name: "dev", Pull: &status.Pull{Number: 3}}
	f := Frame{Levers: map[string][]LeverLink{"dev": {{Lever: "merge"}, {Lever: "close"}, {Lever: "reopen"}, {Lever: "hold"}}}}
	for done, want := range map[actions.Pull]int{
		{}: 4, {Number: 3, State: forge.Merged}: 1, {Number: 3, State: forge.Closed}: 2, {Number: 3, State: forge.Open}: 3, {Number: 30, State: forge.Merged}: 4,
	} {
		f.DonePull = &done
		if got := f.leversOf(e); len(got) != want {
			t.Errorf("after %+v there are %v", done, got)
		}
	}
}
