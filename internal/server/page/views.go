package page

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/picture"
)

func newView(of any, f Frame) (name, title string, view any) {
	switch a := of.(type) {
	case answer.Overview:
		return "overview", "Overview", newOverviewView(a, f)
	case answer.PastOverview:
		return "past-overview", "Overview", newPastOverviewView(a, f)
	case answer.OutputChanges:
		return "changes", "Changes of " + a.Environment + " from " + a.From.At + " to " + a.To.At, outputChangesView{a}
	case answer.PastEnvironment:
		return "past-environment", a.Environment, a
	case answer.PastEnvironments:
		return "past-environments", "Environments", a
	case Environments:
		a.HasPast = f.HasPast
		return "environments", "Environments", a
	case answer.OneEnvironment:
		return "environment", a.Report.Name, environmentView{a, f.Questions, f.leversOf(a.Report), f.Written, f.Done, f.Proposed, f.HasPast}
	case answer.Lever:
		return "lever", a.Question, a
	case answer.Me:
		return "me", "Me", a
	case answer.Inbox:
		return "waiting", titleInbox(a), a
	case Refused:
		return "refused", "Refused", refusedView{a, f.SignIn, f.Path}
	case Problems:
		return "problems", "Problems", a
	case Commits:
		return "commits", "Commits", a
	case answer.PullImpact:
		return "pull", fmt.Sprintf("%s: pull request %d", a.Environment, a.Pull.Number), pullView{a, f.Levers[a.Environment]}
	case answer.Journey:
		return "commit", text.ShortCommit(a.Commit.ID) + " " + a.Commit.Subject, journeyView{a, f.Forecasts, f.Levers}
	case Forecast:
		return "forecast", "Forecast of " + text.ShortCommit(a.Commit.ID), a
	case answer.Status:
		return "health", "Health", healthView{a}
	case Figures:
		return "figures", "Figures", a
	case Explain:
		a.HasPast = f.HasPast
		return "explain", a.title(), a
	case Diff:
		return "diff", a.title(), a
	case Settings:
		return "settings", "Settings", a
	case Stacks:
		return "stacks", "Stacks", a
	case answer.Stack:
		return "stack", a.StackPart.Stack + " in " + a.Environment, newStackView(a, f)
	case answer.StackRun:
		return "run", "Plan " + a.ID + " of " + a.Component.Name + " of " + a.Stack + " in " + a.Environment, newRunView(a, f)
	case Listed:
		return a.Template, a.title(), a
	case answer.Found:
		return "search", "Search", searchView{a}
	default:
		return newFleetView(of, f)
	}
}

// journeyView is the data of commit.html.
type journeyView struct {
	answer.Journey
	Forecasts bool // whether there are forecasts
	Levers    map[string][]LeverLink
}

// Acts returns what the reader may do about what keeps the commit from an environment; nil for nothing.
func (v journeyView) Acts(s answer.Stop) *needActions {
	if s.Need == nil {
		return nil
	}
	acts := newNeedActions(*s.Need, v.Levers[s.Need.Environment])
	return &acts
}

// Forecast is the page of the forecast of a commit: the answer, or why there is none.
type Forecast struct {
	answer.Forecast
	Refusal Missing
}

// Missing is the page of what there is not.
type Missing struct {
	Error, Hint string
	// Heading is that of the page; "" for what there is not.
	Heading string
	// Present is the path of what was asked for as it is now; "" if that is what was asked for.
	Present string
	// List is the path of the page that lists those that there are; "" if there is none.
	List string
	// Nearest is what was probably meant, and NearestPath the path of its page; "" for nothing.
	Nearest, NearestPath string
}

// Title returns the heading of the page, and its title.
func (m Missing) Title() string { return cmp.Or(m.Heading, "Not found") }

// ListName returns what the pages of a list are called.
func (m Missing) ListName() string {
	if m.List == "fleet" {
		return "assignments"
	}
	return strings.ReplaceAll(m.List, "-", " ")
}

// Problems is the page of problems: the answer, and how it was asked for.
type Problems struct {
	answer.Problems
	Filter       answer.ProblemFilter
	Environments []string
}

// Explain is the page of an explanation: the answer, or why there is none.
type Explain struct {
	answer.Explanation
	// HasPast reports whether there is a past, and At is the moment that is asked about; "" for now.
	HasPast      bool
	At           string
	Environments []string
	Refusal      Missing
}

// Diff is the page of differences: the answer, or why there is none.
type Diff struct {
	answer.Differences
	Environments []string
	Refusal      Missing
}

func (e Explain) title() string {
	if e.Query == "" {
		return "Explain"
	}
	return "Explain " + e.Query + " in " + e.Environment
}

func (d Diff) title() string {
	if d.From == "" || d.To == "" {
		return "Differences"
	}
	sides := ": " + d.From + " and " + d.To
	if d.Kind != "" {
		return "Differences in " + d.Kind + sides
	}
	return "Differences" + sides
}

// kindChoice is a kind of problems, or of differences, that may be asked for.
type kindChoice struct {
	Name     string
	Count    int
	Selected bool
}

// Kinds returns the kinds that may be asked for.
func (p Problems) Kinds() (all []kindChoice) {
	for _, kind := range answer.ProblemKinds() {
		if n := p.Counts[kind]; n > 0 || kind == p.Filter.Kind {
			all = append(all, kindChoice{kind, n, kind == p.Filter.Kind})
		}
	}
	return all
}

// Commits is the page of commits: the answer, and how it was asked for.
type Commits struct {
	answer.Commits
	Filter     answer.CommitFilter
	ColumnPage int // of the environments
}

// Pager returns the way to other problems.
func (p Problems) Pager() pager {
	return newListPager("problems", p.Page, p.Found, url.Values{"q": {p.Filter.Text}, "env": {p.Filter.Environment}, "kind": {p.Filter.Kind}})
}

func newListPager(name string, page, total int, asked url.Values) pager {
	maps.DeleteFunc(asked, func(_ string, values []string) bool { return values[0] == "" })
	return newPager(page, answer.ListRows, total, name, func(page int) string {
		asked.Set("page", strconv.Itoa(page))
		return name + "?" + asked.Encode()
	})
}

// graphView is the picture of the components of a stack, with their words.
type graphView struct {
	picture.Picture
	Label  string // what the order is
	Arrows []arrowView
	Boxes  []boxView
}

// arrowView is an arrow, with its head.
type arrowView struct {
	picture.Arrow
	Head string
}

// boxView is the box of a component.
type boxView struct {
	picture.Box
	Anchor       string // where the page says more
	State        answer.State
	Title        string
	Has, Word    string
	TextX        int
	MarkX, MarkY int
}

// Line returns where the n-th line of a box is.
func (b boxView) Line(n int) int { return b.Y + 6 + 20*n }

// How many components are drawn, and the most characters of the lines of a box.
const maxDrawn, maxTitle, maxLine = 60, 19, 25

func (v *graphView) addArrows(p picture.Picture) {
	for _, a := range p.Arrows {
		to := p.Boxes[slices.IndexFunc(p.Boxes, func(b picture.Box) bool { return b.Name == a.To })]
		v.Arrows = append(v.Arrows, arrowView{a, fmt.Sprintf("M%d %dl-9 -4.5v9z", to.X, to.Y+to.Height/2)})
	}
}

// environmentView is the data of environment.html.
type environmentView struct {
	answer.OneEnvironment
	Questions bool // whether there are pages that explain
	Levers    []LeverLink
	Written   string // the commit that the reader has just written
	Done      string // what the reader has just done to a pull request
	Proposed  int    // the pull request that the reader has just opened
	HasPast   bool   // whether the page has a past
}

// LeverList returns what the reader may do.
func (v environmentView) LeverList() leverList { return leverList{v.Report.Name, v.Levers} }

// Acts returns the commands that help, for those who have no buttons; nil for none.
func (v environmentView) Acts() *needActions {
	if v.Need == nil || len(v.Levers) > 0 {
		return nil
	}
	acts := newNeedActions(*v.Need, nil)
	return &acts
}

// doneLevers are the actions on a pull request that one which was done leaves nothing to do for, by the state that the pull
// request has then.
var doneLevers = map[forge.State][]string{
	forge.Merged: pullLevers,
	forge.Closed: {"merge", "close", "approve-removals"},
	forge.Open:   {"reopen"},
}

// leversOf returns the actions of an environment without those that follow from what the reader has just done with
// its pull request: the report of the next cycle leaves them out, too.
func (f Frame) leversOf(e status.Environment) []LeverLink {
	all := f.Levers[e.Name]
	if e.Pull == nil || f.DonePull == nil || f.DonePull.Number != e.Pull.Number {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(l LeverLink) bool { return slices.Contains(doneLevers[f.DonePull.State], l.Lever) })
}

// ProofParts returns what the verification of the commit consists of.
func (v environmentView) ProofParts() []gate.Verdict {
	proof := v.Stage.Proof
	if len(proof.Parts) > 0 {
		return proof.Parts
	}
	return []gate.Verdict{proof}
}

// Gates returns those of the next commit, each once.
func (v environmentView) Gates() []gate.Verdict { return answer.ListGates(v.Stage.Next.Verdict) }

// Check returns the earliest time at which a decision on the environment may change; zero if none is known.
func (v environmentView) Check() time.Time {
	var first time.Time
	for _, at := range []time.Time{v.Stage.Next.Verdict.NextChange(), v.Stage.Proof.NextChange()} {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// PullTitle returns the title of the pull request; "" where it only repeats the change, as the titles that
// Fairlead writes do, truncated to what a forge accepts.
func (v environmentView) PullTitle() string {
	e := v.Report
	title := strings.TrimSuffix(strings.TrimPrefix(e.Pull.Title, e.Name+": "), "…")
	if title != "" && strings.HasPrefix(e.Change, title) {
		return ""
	}
	return e.Pull.Title
}

// Unshown returns how many problems are not listed.
func (v environmentView) Unshown() int { return v.ProblemCount - len(v.Report.Problems) }

// ReadyWidth and FailedWidth return how many of a hundred clusters are ready, and have failed.
func (v environmentView) ReadyWidth() int {
	return percentOf(v.Situation.Clusters.Ready, v.Situation.Clusters.Expected)
}

// FailedWidth is described at ReadyWidth.
func (v environmentView) FailedWidth() int {
	return percentOf(v.Situation.Clusters.Failed, v.Situation.Clusters.Expected)
}

// healthView is the data of health.html.
type healthView struct{ answer.Status }

// OverdueReasons returns why environments are overdue.
func (v healthView) OverdueReasons() (all []string) {
	for _, u := range v.Overdue {
		all = append(all, v.OverdueReason(u))
	}
	return all
}

// Doubtful returns the checks of the set-up that failed or warn, and Passed the others.
func (v healthView) Doubtful() []status.Finding {
	return slices.DeleteFunc(slices.Clone(v.Examination.Findings), func(f status.Finding) bool { return f.Level == status.LevelOK })
}

// Passed is described at Doubtful.
func (v healthView) Passed() []status.Finding {
	return slices.DeleteFunc(slices.Clone(v.Examination.Findings), func(f status.Finding) bool { return f.Level != status.LevelOK })
}

// cyclesView is how long the last cycles took, the oldest first, as a picture.
type cyclesView struct {
	picture.Chart
	Columns []cycleColumn
	Failed  []string // their numbers
	Longest time.Duration
}

// cycleColumn is a cycle, and where it is.
type cycleColumn struct {
	picture.Column
	status.Cycle
}

// CyclesChart returns the last cycles as a picture; nil if there is none.
func (v healthView) CyclesChart() *cyclesView {
	if len(v.Cycles) == 0 {
		return nil
	}
	s, shown := picture.Series{}, &cyclesView{}
	for _, c := range slices.Backward(v.Cycles) {
		s.Values, shown.Longest = append(s.Values, int(c.Took.Milliseconds())), max(shown.Longest, c.Took)
		if c.Outcome != status.OutcomeOK {
			shown.Failed = append(shown.Failed, strconv.FormatInt(c.Number, 10))
		}
	}
	shown.Chart = picture.NewChart([]picture.Series{s})
	for _, c := range shown.Rows[0].Columns {
		shown.Columns = append(shown.Columns, cycleColumn{c, v.Cycles[len(v.Cycles)-1-c.Index]})
	}
	return shown
}

// searchView is the data of search.html.
type searchView struct{ answer.Found }

// nameGroup are names of one kind, which have pages below a list.
type nameGroup struct {
	Title, List string
	Names       []string
}

// Groups returns the kinds of names of which some were found.
func (v searchView) Groups() (all []nameGroup) {
	for _, g := range []nameGroup{{"Workloads", "workloads", v.Workloads}, {"Cluster types", "cluster-types", v.ClusterTypes}, {"Clusters", "clusters", v.Clusters}} {
		if len(g.Names) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// HasFound reports whether anything was found.
func (v searchView) HasFound() bool {
	return len(v.Environments)+len(v.Stacks)+len(v.Commits)+len(v.Problems)+len(v.Targets)+len(v.Objects)+len(v.Assignments)+len(v.Pulls)+len(v.Groups()) > 0
}
