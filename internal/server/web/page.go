package web

import (
	"bytes"
	_ "embed" // page.html
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

//go:embed page.html
var pageText string

// pageTemplate has functions that turn parts of reports into words.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"behind": behindText, "count": text.Count, "elapsed": elapsedText, "link": safeLink, "problemCount": problemCountText,
	"short": text.ShortCommit, "held": isHeld, "stageTone": stageTone, "target": targetText, "title": pullTitle, "tone": stateTone,
	"segments": func(path string) []string { return strings.SplitAfter(path, "/") },
	"join":     func(names []string) string { return strings.Join(names, ", ") },
	"unshown":  func(e status.Environment) int { return len(e.Problems) - len(e.ShownProblems()) },
}).Parse(pageText))

// view is the data of page.html.
type view struct {
	status.Snapshot
	Style     template.CSS
	Version   string
	Refresh   bool
	Seconds   int // between two refreshes
	Ready     bool
	Reasons   []string         // why it is not ready, and what is overdue
	Counts    []count          // of environments, by state
	Attention int              // environments that wait for a person
	Shared    []problem.Shared // problems that several environments have
	Fleet     []fleetPart      // the clusters of each environment
	NoFleet   bool             // whether the ledger cannot be asked about them
	Refused   int              // how many of their reports were refused lately
	now       time.Time
}

type count struct {
	N     int
	State status.State
}

// moment is a time relative to now and exactly; the zero moment is no time.
type moment struct{ Text, Exact string }

func (s *site) servePage(w http.ResponseWriter, r *http.Request) {
	all := s.options.Store.Snapshot()
	reasons, overdue := s.checkReadiness(all)
	v := view{
		Snapshot: all, Style: template.CSS(styleSheet), Version: s.options.Version, Refresh: r.URL.Query().Get("refresh") != "off", Seconds: int(s.options.Refresh / time.Second),
		Ready: len(reasons) == 0, Reasons: reasons, Attention: countAttention(all), now: s.options.Now(),
	}
	v.Shared = sharedProblems(all.Environments)
	v.Fleet, v.Refused, v.NoFleet = s.findFleet(r.Context())
	for _, u := range overdue {
		v.Reasons = append(v.Reasons, all.OverdueReason(u))
	}
	in := map[status.State]int{}
	for _, e := range all.Environments {
		in[e.State]++
	}
	for _, state := range status.AllStates() {
		if n := in[state]; n > 0 {
			v.Counts = append(v.Counts, count{n, state})
		}
	}
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, v); err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	s.writeBody(w, r, http.StatusOK, "text/html; charset=utf-8", body.String())
}

// sharedProblems returns the problems that more than one environment has. The page shows each once.
func sharedProblems(environments []status.Environment) []problem.Shared {
	var all problem.Sharing
	for _, e := range environments {
		all.Add(e.Name, e.ShownProblems())
	}
	return slices.DeleteFunc(all.Sorted(), func(p problem.Shared) bool { return len(p.Environments) < 2 })
}

// OwnProblems returns the problems that are shown with an environment: those that no other one has.
func (v view) OwnProblems(e status.Environment) problem.List {
	shared := func(p problem.Problem) bool {
		return slices.ContainsFunc(v.Shared, func(s problem.Shared) bool { return s.Problem == p })
	}
	return slices.DeleteFunc(slices.Clone(e.ShownProblems()), shared)
}

// CountAbove returns how many of an environment's problems are shown with those of several.
func (v view) CountAbove(e status.Environment) int {
	return len(e.ShownProblems()) - len(v.OwnProblems(e))
}

// stateTone groups the states by what they ask of people: nothing (good), patience or
// a review (busy), a decision (stopped), a repair (bad).
func stateTone(s status.State) string {
	switch s {
	case status.InSync:
		return "good"
	case status.Declined, status.Edited, status.Foreign:
		return "stopped"
	case status.Problems, status.Failed:
		return "bad"
	default:
		return "busy"
	}
}

// pullTitle returns the title of an environment's pull request; "" where it only repeats the change,
// as the titles that Fairlead writes do, truncated to what a forge accepts.
func pullTitle(e status.Environment) string {
	if e.Pull == nil {
		return ""
	}
	title := strings.TrimSuffix(strings.TrimPrefix(e.Pull.Title, e.Name+": "), "…")
	if title != "" && strings.HasPrefix(e.Change, title) {
		return ""
	}
	return e.Pull.Title
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

// problemCountText returns the number of problems as text: "2 problems, 1 warning".
func problemCountText(l problem.List) string {
	problems, warnings := l.Count()
	switch {
	case warnings == 0:
		return text.Count(problems, "problem")
	case problems == 0:
		return text.Count(warnings, "warning")
	default:
		return text.Count(problems, "problem") + ", " + text.Count(warnings, "warning")
	}
}

// Moment returns a time relative to that of the view.
func (v view) Moment(t time.Time) moment { return newMoment(t, v.now) }

// newMoment returns a time relative to now: "3 min ago", "in 40 s".
func newMoment(t, now time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	m := moment{Exact: t.UTC().Format(time.RFC3339)}
	switch d := now.Sub(t).Round(time.Second); {
	case d == 0:
		m.Text = "now"
	case d > 0:
		m.Text = durationText(d) + " ago"
	default:
		m.Text = "in " + durationText(-d)
	}
	return m
}

// durationText returns a duration in its largest unit.
func durationText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d days", d/day)
	}
}

// elapsedText returns how long something took, as text.
func elapsedText(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}
