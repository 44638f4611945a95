package web

import (
	"bytes"
	_ "embed" // page.html
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// view is the data of page.html: words, no decisions.
type view struct {
	Style     template.CSS
	Version   string
	Refresh   bool
	Ready     bool
	Reasons   []string
	Ended     bool // a cycle has
	Cycle     cycleView
	Counted   string // how many environments there are
	Counts    []count
	Attention int // environments that wait for a person
	Chain     *chainView
	Rows      []row
	Remotes   []remoteView
}

type count struct {
	N    int
	Word string
	Tone string
}

type cycleView struct {
	status.Cycle
	Took          string
	Started, Next moment
}

type row struct {
	status.Environment
	Tone     string
	PullLink string
	Title    string // of the pull request; "" where it only repeats the change
	Error    string // "" where it only repeats the reason
	Inputs   []inputView
	Removals []removalView
	Head     string
	Extent   string // how much the environment is; "" if that is not known
	Problems problem.List
	More     int // problems that are not shown
	Counted  string
	Open     bool
	Since    moment
	Checked  moment
	Took     string
}

// removalView is the removal of an output that an environment has left behind.
type removalView struct {
	Text, Link string
	Number     int // of the pull request; 0 without one
}

type inputView struct {
	status.Input
	Link, Commit string
}

type remoteView struct {
	status.Remote
	Since, NextTry, Checked moment
}

// moment is a time relative to now and exactly; the zero moment is no time.
type moment struct{ Text, Exact string }

func (s *site) page(w http.ResponseWriter, r *http.Request) {
	all := s.options.Store.Snapshot()
	v := show(all, s.options.Now())
	reasons, overdue := s.readiness(all)
	v.Ready, v.Reasons = len(reasons) == 0, reasons
	for _, u := range overdue {
		v.Reasons = append(v.Reasons, all.WhyOverdue(u))
	}
	v.Version = s.options.Version
	v.Refresh = r.URL.Query().Get("refresh") != "off"
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, v); err != nil {
		s.broken(w, r, err)
		return
	}
	s.write(w, r, http.StatusOK, "text/html; charset=utf-8", body.String())
}

// show returns the view of a snapshot at a time.
func show(all status.Snapshot, now time.Time) view {
	v := view{
		Style:     template.CSS(style),
		Counted:   many(len(all.Environments), "environment"),
		Attention: attention(all),
		Chain:     showChain(all.Chain, now),
	}
	v.Ended = all.Cycle.Outcome != ""
	v.Cycle = cycleView{all.Cycle, length(all.Cycle.Took), at(all.Cycle.Started, now), at(all.Cycle.Next, now)}
	in := map[status.State]int{}
	for _, e := range all.Environments {
		v.Rows = append(v.Rows, showEnvironment(e, now))
		in[e.State]++
	}
	for _, state := range status.States() {
		if n := in[state]; n > 0 {
			v.Counts = append(v.Counts, count{n, word(state), tone(state)})
		}
	}
	for _, r := range all.Remotes {
		v.Remotes = append(v.Remotes, remoteView{r, at(r.Since, now), at(r.NextTry, now), at(r.Checked, now)})
	}
	return v
}

func showEnvironment(e status.Environment, now time.Time) row {
	shown := e.Shown()
	r := row{
		Environment: e,
		Tone:        tone(e.State),
		Head:        promote.ShortID(e.Output.Head),
		Problems:    shown,
		More:        len(e.Problems) - len(shown),
		Counted:     counted(e.Problems),
		Open:        e.Problems.Stops(),
		Since:       at(e.Since, now),
		Checked:     at(e.Checked, now),
		Took:        length(e.Took),
	}
	if e.Assignments > 0 || e.ClusterTypes > 0 {
		r.Extent = many(e.Assignments, "assignment") + ", " + many(e.ClusterTypes, "cluster type")
	}
	if e.Pull != nil {
		r.PullLink = link(e.Pull.URL)
		if !repeats(e) {
			r.Title = e.Pull.Title
		}
	}
	if e.Error != e.Reason {
		r.Error = e.Error
	}
	for _, i := range e.Inputs {
		r.Inputs = append(r.Inputs, inputView{i, link(i.Repo), promote.ShortID(i.Commit)})
	}
	for _, removal := range e.Removals {
		v := removalView{Text: removal.String()}
		if removal.Pull != nil {
			v.Link, v.Number = link(removal.Pull.URL), removal.Pull.Number
		}
		r.Removals = append(r.Removals, v)
	}
	return r
}

// tone groups the states by what they ask of people: nothing (good), patience or
// a review (busy), a decision (stopped), a repair (bad).
func tone(s status.State) string {
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

// word returns the word for environments in a state, to follow their number.
func word(s status.State) string {
	if s == status.Problems {
		return "with problems" // "3 problems" would be a number of problems
	}
	return string(s)
}

// repeats reports whether the title of the pull request only repeats the change, as the
// titles that Fairlead writes do, truncated to what a forge accepts.
func repeats(e status.Environment) bool {
	title := strings.TrimSuffix(strings.TrimPrefix(e.Pull.Title, e.Name+": "), "…")
	return title != "" && strings.HasPrefix(e.Change, title)
}

// link returns a URL that is safe to follow: http or https, without a password; "" for
// any other.
func link(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return u.String()
}

// counted returns the number of problems as text: "2 problems, 1 warning".
func counted(l problem.List) string {
	problems, warnings := l.Count()
	switch {
	case warnings == 0:
		return many(problems, "problem")
	case problems == 0:
		return many(warnings, "warning")
	default:
		return many(problems, "problem") + ", " + many(warnings, "warning")
	}
}

func many(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// at returns a time relative to now: "3 min ago", "in 40 s".
func at(t, now time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	m := moment{Exact: t.UTC().Format(time.RFC3339)}
	switch d := now.Sub(t).Round(time.Second); {
	case d == 0:
		m.Text = "now"
	case d > 0:
		m.Text = far(d) + " ago"
	default:
		m.Text = "in " + far(-d)
	}
	return m
}

// far returns a duration in its largest unit.
func far(d time.Duration) string {
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

// length returns how long something took, as text.
func length(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}
