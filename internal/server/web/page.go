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
	"github.com/fairlead-io/fairlead/internal/base/text"
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

func (s *site) servePage(w http.ResponseWriter, r *http.Request) {
	all := s.options.Store.Snapshot()
	v := newView(all, s.options.Now())
	reasons, overdue := s.checkReadiness(all)
	v.Ready, v.Reasons = len(reasons) == 0, reasons
	for _, u := range overdue {
		v.Reasons = append(v.Reasons, all.OverdueReason(u))
	}
	v.Version = s.options.Version
	v.Refresh = r.URL.Query().Get("refresh") != "off"
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, v); err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	s.writeBody(w, r, http.StatusOK, "text/html; charset=utf-8", body.String())
}

// newView returns the view of a snapshot at a time.
func newView(all status.Snapshot, now time.Time) view {
	v := view{
		Style:     template.CSS(styleSheet),
		Counted:   text.Count(len(all.Environments), "environment"),
		Attention: countAttention(all),
		Chain:     newChainView(all.Chain, now),
	}
	v.Ended = all.Cycle.Outcome != ""
	v.Cycle = cycleView{all.Cycle, elapsedText(all.Cycle.Took), newMoment(all.Cycle.Started, now), newMoment(all.Cycle.Next, now)}
	in := map[status.State]int{}
	for _, e := range all.Environments {
		v.Rows = append(v.Rows, newRow(e, now))
		in[e.State]++
	}
	for _, state := range status.AllStates() {
		if n := in[state]; n > 0 {
			v.Counts = append(v.Counts, count{n, stateWord(state), stateTone(state)})
		}
	}
	for _, r := range all.Remotes {
		v.Remotes = append(v.Remotes, remoteView{r, newMoment(r.Since, now), newMoment(r.NextTry, now), newMoment(r.Checked, now)})
	}
	return v
}

func newRow(e status.Environment, now time.Time) row {
	shown := e.ShownProblems()
	r := row{
		Environment: e,
		Tone:        stateTone(e.State),
		Head:        promote.ShortID(e.Output.Head),
		Problems:    shown,
		More:        len(e.Problems) - len(shown),
		Counted:     problemCountText(e.Problems),
		Open:        e.Problems.Stops(),
		Since:       newMoment(e.Since, now),
		Checked:     newMoment(e.Checked, now),
		Took:        elapsedText(e.Took),
	}
	if e.Assignments > 0 || e.ClusterTypes > 0 {
		r.Extent = text.Count(e.Assignments, "assignment") + ", " + text.Count(e.ClusterTypes, "cluster type")
	}
	if e.Pull != nil {
		r.PullLink = safeLink(e.Pull.URL)
		if !titleRepeatsChange(e) {
			r.Title = e.Pull.Title
		}
	}
	if e.Error != e.Reason {
		r.Error = e.Error
	}
	for _, i := range e.Inputs {
		r.Inputs = append(r.Inputs, inputView{i, safeLink(i.Repo), promote.ShortID(i.Commit)})
	}
	for _, removal := range e.Removals {
		v := removalView{Text: removal.String()}
		if removal.Pull != nil {
			v.Link, v.Number = safeLink(removal.Pull.URL), removal.Pull.Number
		}
		r.Removals = append(r.Removals, v)
	}
	return r
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

// stateWord returns the word for environments in a state, to follow their number.
func stateWord(s status.State) string {
	if s == status.Problems {
		return "with problems" // "3 problems" would be a number of problems
	}
	return string(s)
}

// titleRepeatsChange reports whether the title of the pull request only repeats the change, as the
// titles that Fairlead writes do, truncated to what a forge accepts.
func titleRepeatsChange(e status.Environment) bool {
	title := strings.TrimSuffix(strings.TrimPrefix(e.Pull.Title, e.Name+": "), "…")
	return title != "" && strings.HasPrefix(e.Change, title)
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
