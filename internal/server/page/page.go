// Package page makes the pages that people see.
//
// What the package keeps true: a page is made from an answer of the API and its [Frame] alone, so that it
// says nothing that the API does not; it has no clock, and the same answer is the same page; all text is
// escaped; links lead to pages of Fairlead and to http and https; there is no inline style or script; and
// the page works without its script.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

//go:embed assets templates
var files embed.FS

// Build identifies the style, the script and the templates of this program.
var Build = hashFiles()

func hashFiles() string {
	sum := sha256.New()
	for _, folder := range []string{"assets", "templates"} {
		names, _ := files.ReadDir(folder) // of the program itself
		for _, f := range names {
			data, _ := files.ReadFile(folder + "/" + f.Name())
			_, _ = sum.Write(append([]byte(f.Name()+"\x00"), data...))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// Asset returns a file that pages need, and its type; "" for one that there is not.
func Asset(name string) (data []byte, contentType string) {
	types := map[string]string{"fairlead.css": "text/css; charset=utf-8", "fairlead.js": "text/javascript; charset=utf-8", "idiomorph.min.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}
	data, err := files.ReadFile("assets/" + name)
	if err != nil {
		return nil, ""
	}
	return data, types[name]
}

// Frame is what is around every page.
type Frame struct {
	// Path is the escaped path of the page, with its query.
	Path string
	// API is the path of the answer, without a slash before it.
	API string
	// Product is the version of the program, and URL the address of the site; "" if that is not known.
	Product, URL string
	// Needs counts what needs a person, and Problems what is wrong.
	Needs, Problems int
	// Refresh has a browser without script load the page again each minute.
	Refresh bool
	// Follow has the page follow the state, and Questions reports whether there are pages that explain.
	Follow, Questions bool
	// Stacks counts the stacks of all environments.
	Stacks int
	// History reports whether there is a page of what was done.
	History bool
	// Forecasts reports whether there are forecasts of commits.
	Forecasts bool
	// Past is the moment that the page shows, and Present the path of the page as it is now; "" if that is what it
	// shows.
	Past, Present string
	// ShowsRuns reports whether the page of the past shows what clusters ran.
	ShowsRuns bool
	// ShowsDone reports whether it shows what was done, until that moment.
	ShowsDone bool
	// At is the moment that the address asks for; "" for now.
	At string
	// HasPast reports whether there is a past.
	HasPast bool
	// Again is after how many seconds a browser loads the page again, since its answer is still made; 0 for never.
	Again int
	// View is how the reader wants to see pages.
	View View
	// Query is what was searched for.
	Query string
	// SignIn reports whether the reader can sign in.
	SignIn bool
	// Return is the path to which signing in leads; "" for that of the page.
	Return string
	// SignedIn reports whether the reader has signed in. Who that is, and how much waits for them, is put into the page
	// that is kept: see [Kept.For].
	SignedIn bool
	// Local reports whether the reader has signed in by being on this machine, as in the demo.
	Local bool
	// Levers are what the person may do, by environment; nil where the page is only read.
	Levers map[string][]LeverLink
	// StackLevers are what the person may do with the stacks of environments.
	StackLevers map[string][]LeverLink
	// Acts reports whether the person may perform operator actions somewhere, so that something may wait for them.
	Acts bool
	// Repositories counts those that are asked, and Silent are those that do not answer now.
	Repositories int
	Silent       []string
	// Health is the state of Fairlead itself, and HealthReasons are why it is not ready.
	Health        answer.State
	HealthReasons []string
	// Commits are those of the base that are known: sentences that name one lead to its page.
	Commits []status.Commit
	// Written is the commit that an action of the person has just written; "" for none.
	Written string
	// Done is what an action of the person has just done to a pull request, in one sentence; "" for nothing.
	Done string
	// DonePull is that pull request, in the state that it has since; nil for none.
	DonePull *actions.Pull
	// Proposed is the number of the pull request that an action of the person has just opened; 0 for none.
	Proposed int
}

// LeverLink is an operator action, and whether the reader may perform it.
type LeverLink struct {
	Lever   string
	Allowed bool
	Reason  string
	// Idle means that it may be performed, and would do nothing.
	Idle bool
}

// Title returns the name of the action on a button.
func (l LeverLink) Title() string {
	titles := map[string]string{"approve": "Approve", "approve-removals": "Approve the removals", "promote": "Promote", "hold": "Hold", "release": "Release", "rollback": "Roll back", "freeze": "Freeze", "end": "End a freeze", "except": "Let a commit pass a freeze", "merge": "Merge", "close": "Close the pull request", "reopen": "Reopen the pull request", "approve-plan": "Approve the plan", "teardown": "Tear down"}
	return titles[l.Lever]
}

type framed struct {
	Frame
	Build, Title, Here string
	// Links are the pages that the head names, and More those that it names when asked.
	Links, More []navLink
	Answer      any
}

// versionMark stands in a page for its version until that is known.
const versionMark = "fairlead-version-of-this-page"

// Render returns the page of an answer.
func Render(f Frame, of any) (Kept, error) {
	name, title, view := newView(of, f)
	data := framed{Frame: f, Build: Build, Title: title + f.describeFilter(name), Answer: view}
	data.Here = findHere(f.Path)
	if name == "missing" || name == "refused" {
		data.Here = nowhere
	}
	data.Links, data.More = f.listLinks(pageLinks, data.Here), f.listLinks(moreLinks, data.Here)
	root := findRoot(f.Path)
	t, err := loadTemplate(templateKey{name, root, f.Past != "", f.At != "", f.URL})
	if err == nil && f.At != "" { // there are as many moments as people ask for, so that nothing of one is kept
		t, err = t.Clone()
	}
	if err != nil {
		return Kept{}, err
	}
	if f.At != "" {
		t.Funcs(moment(f.At).funcs())
	}
	var buffer bytes.Buffer
	err = t.ExecuteTemplate(&buffer, "frame", data)
	if err != nil {
		return Kept{}, fmt.Errorf("make the page %s: %w", name, err)
	}
	return Kept{linkCommits(buffer.Bytes(), root, moment(f.At), f.Commits)}, nil
}

// For returns the page as a reader gets it, and its version, which is another one when the page is.
func (k Kept) For(r Reader) (body []byte, version string) {
	body = k.html
	for mark, words := range map[string]string{nameMark: r.Name, waitingMark: r.Waiting} {
		body = bytes.ReplaceAll(body, []byte(mark), []byte(template.HTMLEscapeString(words)))
	}
	sum := sha256.Sum256(body)
	version = hex.EncodeToString(sum[:12])
	return bytes.Replace(body, []byte(versionMark), []byte(version), 1), version
}

// findRoot returns the way from a page to the root of the site, so that pages work below any path of a proxy.
func findRoot(path string) string {
	path, _, _ = strings.Cut(path, "?")
	depth := strings.Count(path, "/") - 1
	if depth <= 0 {
		return "./"
	}
	return strings.Repeat("../", depth)
}

// templates are those that were parsed, by their keys.
var templates sync.Map

// templateKey is a page, and what functions of its template return: the root, and whether the page shows the past.
type templateKey struct {
	name, root string
	isPast     bool
	hasMoment  bool   // its template is cloned for each moment, and executed for none
	url        string // of the site
}

func loadTemplate(key templateKey) (*template.Template, error) {
	if kept, ok := templates.Load(key); ok {
		return kept.(*template.Template), nil
	}
	t, err := template.New(key.name).Funcs(newFuncs(key)).ParseFS(files, "templates/frame.html", "templates/stations.html", "templates/matrix.html", "templates/stackparts.html", "templates/impact.html", "templates/"+key.name+".html")
	if err == nil {
		templates.Store(key, t)
	}
	return t, err
}

// siteFlag returns the end of a command that has it ask this daemon; "" if the address of the site is not known.
func (k templateKey) siteFlag() string {
	if k.url == "" {
		return ""
	}
	return " --url " + text.QuoteShell(k.url)
}

func newFuncs(key templateKey) template.FuncMap {
	funcs := template.FuncMap{
		"root": func() string { return key.root }, "isPast": func() bool { return key.isPast }, "site": key.siteFlag, "shell": text.QuoteShell, "stateText": stateText, "localTime": localTime, "optionText": optionText,
		"segment": url.PathEscape, "query": url.QueryEscape, "link": safeLink, "page": giturl.CommitPage,
		"short": text.ShortCommit, "sentence": formatSentence, "clean": answer.CleanText, "count": text.Count, "beyond": func(n int, names []string) int { return max(0, len(names)-n) }, "noneLikeThat": noneLikeThat, "mayChange": mayChange, "join": func(names []string) string { return strings.Join(names, ", ") },
		"exact": exactTime, "forgeName": forgeName, "levelState": levelState, "plain": plainTime, "elapsed": elapsedText,
		"gateState": gateState, "kindState": kindState, "splitPull": splitPull, "pullOf": newPullLink, "besides": trimStateWord, "markText": answer.MarkText,
		"sideText": sideText, "digits": groupDigits, "shortVersion": shortVersion, "policyState": policyState, "outcomeState": outcomeState, "parts": splitSentence, "riskState": riskState, "meaningState": meaningState, "removalState": removalState, "removalPath": removalPath, "phaseState": answer.PhaseState, "poolText": poolText, "actionText": actionText, "pastTense": pastTense,
		"stackPath": stackPath, "runPath": answer.PlanPath, "leverPath": leverPath, "componentAnchor": componentAnchor, "componentWord": componentWord, "changeState": changeState,
		"lines": splitLines, "leverTitle": func(name string) string { return LeverLink{Lever: name}.Title() }, "statement": func(question string) string { return strings.TrimSuffix(question, "?") },
		"deletesState": deletesState, "eventState": eventState, "leadText": leadText, "failedText": failedText, "nameOf": nameOf, "laneNames": laneNames, "laneLevers": laneLevers, "momentOf": momentOf, "countUnrendered": countUnrendered,
	}
	for name, state := range map[string]answer.State{
		"takenBackState": {Tone: answer.Stopped, Word: "taken back"}, "notAssignedState": {Tone: answer.Unknown, Word: "not assigned"}, "forcedState": {Tone: answer.Stopped, Word: "forced"},
		"heldState": {Tone: answer.Stopped, Word: "held"}, "resolvedState": {Tone: answer.Good, Word: "resolved"}, "unknownState": {Tone: answer.Unknown, Word: "unknown"},
		"answersState": {Tone: answer.Good, Word: "answers"}, "failingState": {Tone: answer.Bad, Word: "fails"},
	} {
		funcs[name] = func() answer.State { return state }
	}
	maps.Copy(funcs, moment("").funcs())
	return funcs
}

// safeLink returns a URL that is safe to follow: http or https, without a password; "" for
// any other.
func safeLink(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return u.String()
}
