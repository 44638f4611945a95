package page

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// newFleetView returns the template, the title and the data of the page of an answer about what is assigned.
func newFleetView(of any, f Frame) (name, title string, view any) {
	switch a := of.(type) {
	case Fleet:
		a.Questions, a.Stacks = f.Questions, f.Stacks
		return "fleet", a.Title(), a
	case History:
		return "history", "History", a
	case Workloads:
		return "workloads", "Workloads", a
	case answer.Assignment:
		return "assignment", a.ClusterType + "/" + a.Target + " in " + a.Environment, assignmentView{a, f.Questions}
	case answer.FleetMap:
		v := newMapView(a)
		return "map", v.Title(), v
	case StyleGuide:
		return "styleguide", "Style guide", newStyleGuideView()
	case ClusterTypes:
		return "cluster-types", "Cluster types", a
	case answer.ClusterType:
		return "cluster-type", "Cluster type " + a.Name, newClusterTypeView(a, f.Questions)
	case answer.Cluster:
		return "cluster", "Cluster " + a.Name, clusterView{a}
	case answer.Workload:
		return "workload", a.Name, newWorkloadView(a, f.Questions)
	}
	m, _ := of.(Missing)
	return "missing", m.Title(), m
}

// Fleet is the page of the fleet: the answer, and how it was asked for.
type Fleet struct {
	answer.Fleet
	Filter       answer.FleetFilter
	Environments []string
	Questions    bool // whether there are pages that explain
	Stacks       int  // how many there are
}

// fleetParameters are the parameters of the fleet, and the fields of a filter that they set.
var fleetParameters = []struct {
	name  string
	field func(f *answer.FleetFilter) *string
}{
	{"rows", func(f *answer.FleetFilter) *string { return &f.Rows }},
	{"cols", func(f *answer.FleetFilter) *string { return &f.Columns }},
	{"q", func(f *answer.FleetFilter) *string { return &f.Text }},
	{"env", func(f *answer.FleetFilter) *string { return &f.Environment }},
	{"team", func(f *answer.FleetFilter) *string { return &f.Team }},
	{"workload", func(f *answer.FleetFilter) *string { return &f.Workload }},
	{"target", func(f *answer.FleetFilter) *string { return &f.Target }},
	{"type", func(f *answer.FleetFilter) *string { return &f.ClusterType }},
	{"region", func(f *answer.FleetFilter) *string { return &f.Region }},
	{"version", func(f *answer.FleetFilter) *string { return &f.Version }},
}

// ParseFleetFilter returns the filter that the parameters of an address mean.
func ParseFleetFilter(query url.Values) answer.FleetFilter {
	var f answer.FleetFilter
	for _, p := range fleetParameters {
		*p.field(&f) = query.Get(p.name)
	}
	f.State = query.Get("state")
	f.Differs = query.Get("differs") != ""
	f.Page, _ = strconv.Atoi(query.Get("page")) // another text is the first page
	f.ColumnPage, _ = strconv.Atoi(query.Get("cpage"))
	return f
}

func addressOf(f answer.FleetFilter) string {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Rows == answer.ByWorkload { // as without it
		f.Rows = ""
	}
	if f.Columns == answer.ByEnvironment {
		f.Columns = ""
	}
	for _, p := range fleetParameters {
		set(p.name, *p.field(&f))
	}
	set("state", f.State)
	if f.Differs {
		set("differs", "on")
	}
	for name, page := range map[string]int{"page": f.Page, "cpage": f.ColumnPage} {
		if page > 1 {
			set(name, strconv.Itoa(page))
		}
	}
	if len(query) == 0 {
		return "fleet"
	}
	return "fleet?" + query.Encode()
}

func narrowFilter(f answer.FleetFilter, side, name string) answer.FleetFilter {
	f.Page, f.ColumnPage, f.Differs = 0, 0, false
	switch side {
	case answer.ByTeam:
		f.Team = name
	case answer.ByWorkload:
		f.Workload = name
	case answer.ByTarget:
		f.Target = name
	case answer.ByEnvironment:
		f.Environment = name
	case answer.ByClusterType:
		f.ClusterType = name
	case answer.ByRegion:
		f.Region = name
	}
	return f
}

// nextLevel returns a filter with the rows and columns that say more of what it selects.
func nextLevel(f answer.FleetFilter) answer.FleetFilter {
	f.Rows, f.Columns = answer.ByTarget, answer.ByClusterType
	if f.Workload == "" && f.Target == "" {
		f.Rows = answer.ByWorkload
	}
	if f.Environment == "" {
		f.Columns = answer.ByEnvironment
	}
	return f
}

// CSVLink returns the address of the same as a table for spreadsheets.
func (v Fleet) CSVLink() string {
	f := v.Filter
	f.Page, f.ColumnPage = 0, 0
	return "fleet.csv" + strings.TrimPrefix(addressOf(f), "fleet")
}

// MapLink returns the address of the map of the environment that is asked for, or of the last one.
func (v Fleet) MapLink() string {
	if v.Filter.Environment == "" {
		return "map"
	}
	return "map?env=" + url.QueryEscape(v.Filter.Environment)
}

// CellLink returns the way from a cell to what it is made of: the assignment, or the same one level down.
func (v Fleet) CellLink(row answer.FleetRow, column int) string {
	f := narrowFilter(narrowFilter(v.Filter, v.Rows, row.Name), v.Columns, v.Heads[column].Name)
	if f.Environment != "" && f.ClusterType != "" && f.Target != "" {
		return assignmentPath(f.Environment, f.ClusterType, f.Target)
	}
	return addressOf(nextLevel(f))
}

// RowLink returns the page of a row.
func (v Fleet) RowLink(row answer.FleetRow) string { return v.sideLink(v.Rows, row.Name) }

// HeadLink returns the page of a column.
func (v Fleet) HeadLink(h answer.FleetHead) string { return v.sideLink(v.Columns, h.Name) }

func (v Fleet) sideLink(side, name string) string {
	switch {
	case side == answer.ByWorkload && name != "":
		return "workloads/" + url.PathEscape(name)
	case side == answer.ByClusterType:
		return "cluster-types/" + url.PathEscape(name)
	case side == answer.ByEnvironment:
		return "environments/" + url.PathEscape(name)
	}
	return addressOf(nextLevel(narrowFilter(v.Filter, side, name)))
}

// ShownState returns what a cell shows of its state: nil where all is well, or nothing is known.
func (v Fleet) ShownState(c answer.FleetCell) *answer.State {
	return worstOf(c.State, c.Worst, c.Assignments)
}

// worstOf returns the worst state with how many of all are in it; nil where all is well, or nothing is known.
func worstOf(s *answer.State, worst, all int) *answer.State {
	if s == nil || s.Tone == answer.Good {
		return nil
	}
	word := s.Word
	if all > 1 {
		word = fmt.Sprintf("%s %d/%d", word, worst, all)
	}
	return &answer.State{Tone: s.Tone, Word: word}
}

// choice is one of several values that a person may choose.
type choice struct {
	Value, Text string
	Selected    bool
}

func choicesOf(values []string, selected string) (all []choice) {
	for _, v := range values {
		all = append(all, choice{v, sideText(v), v == selected})
	}
	return all
}

func sideText(side string) string {
	if side == answer.ByClusterType {
		return "cluster type"
	}
	return side
}

// RowChoices returns what rows may be.
func (v Fleet) RowChoices() []choice { return choicesOf(answer.FleetSides(), v.Rows) }

// ColumnChoices returns what columns may be.
func (v Fleet) ColumnChoices() []choice { return choicesOf(answer.FleetSides(), v.Columns) }

// StateChoices returns the states that may be asked for.
func (v Fleet) StateChoices() (all []choice) {
	for _, s := range answer.AssignedStates() {
		if n := len(all); n > 0 && all[n-1].Value == string(s.Tone) { // the same choice
			all[n-1].Text += " or " + s.Word
			continue
		}
		all = append(all, choice{string(s.Tone), s.Word, string(s.Tone) == v.Filter.State})
	}
	return withAsked(all, v.Filter.State)
}

// chip is a state with a count, or a part of the filter that a link takes away.
type chip struct {
	State *answer.State
	Text  string
	Link  string
}

// Counts returns how many assignments are in each state, the most urgent first.
func (v Fleet) Counts() (all []chip) {
	for _, s := range v.States {
		f := v.Filter
		f.State, f.Page, f.ColumnPage = s.State.Word, 0, 0
		all = append(all, chip{&answer.State{Tone: s.State.Tone, Word: s.State.Word + " " + groupDigits(s.Assignments)}, "", addressOf(f)})
	}
	return all
}

// kept are the parameters that have no field of the form: they are chips, and hidden fields.
var kept = []string{"env", "workload", "target", "type", "region", "version"}

// Kept returns the parts of the filter that have no field, with links to the fleet without them.
func (v Fleet) Kept() (all []chip) {
	for _, p := range fleetParameters {
		f := v.Filter
		value := *p.field(&f)
		if value == "" || !slices.Contains(kept, p.name) {
			continue
		}
		*p.field(&f) = ""
		f.Page, f.ColumnPage = 0, 0
		all = append(all, chip{nil, p.name + ": " + value, addressOf(f)})
	}
	return all
}

// Hidden returns the same as fields of the form.
func (v Fleet) Hidden() (all []answer.Label) {
	for _, p := range fleetParameters {
		f := v.Filter
		if value := *p.field(&f); value != "" && slices.Contains(kept, p.name) {
			all = append(all, answer.Label{Key: p.name, Value: value})
		}
	}
	return all
}

type pager struct {
	Page, Pages      int
	Newer, Later     string // addresses; "" for none
	First, Last, All int    // of the items
	What             string
}

func newPager(page, size, total int, what string, address func(page int) string) pager {
	p := pager{Page: page, Pages: max(1, (total+size-1)/size), All: total, What: what, First: min(total, (page-1)*size+1), Last: min(total, page*size)}
	if page > 1 {
		p.Newer = address(page - 1)
	}
	if page < p.Pages {
		p.Later = address(page + 1)
	}
	return p
}

// RowPager returns the way to other rows.
func (v Fleet) RowPager() pager {
	return newPager(v.Page, answer.FleetRows, v.Total, sideText(v.Rows)+"s", func(page int) string {
		f := v.Filter
		f.Page = page
		return addressOf(f)
	})
}

// ColumnPager returns the way to other columns.
func (v Fleet) ColumnPager() pager {
	return newPager(v.ColumnPage, answer.FleetColumns, v.TotalColumns, sideText(v.Columns)+"s", func(page int) string {
		f := v.Filter
		f.ColumnPage = page
		return addressOf(f)
	})
}

// IsExact reports whether a cell is one deployment target on one cluster type of one environment.
func (v Fleet) IsExact() bool {
	return v.Filter.Environment != "" && (v.Rows == answer.ByTarget && v.Columns == answer.ByClusterType || v.Rows == answer.ByClusterType && v.Columns == answer.ByTarget)
}

// IsFiltered reports whether anything is asked for but all.
func (v Fleet) IsFiltered() bool {
	return v.Filter.AssignmentFilter != answer.AssignmentFilter{} || v.Filter.Differs
}

func assignmentPath(environment, clusterType, target string) string {
	return "assignments/" + url.PathEscape(environment) + "/" + url.PathEscape(clusterType) + "/" + url.PathEscape(target)
}

func groupDigits(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Workloads is the page of workloads: the answer, and how it was asked for.
type Workloads struct {
	answer.Workloads
	Filter answer.WorkloadFilter
}

// ParseWorkloadFilter returns the filter that the parameters of an address mean.
func ParseWorkloadFilter(query url.Values) answer.WorkloadFilter {
	page, _ := strconv.Atoi(query.Get("page")) // another text is the first page
	return answer.WorkloadFilter{Text: query.Get("q"), Team: query.Get("team"), Page: page}
}

// Pager returns the way to other workloads.
func (v Workloads) Pager() pager {
	return newPager(v.Page, answer.FleetRows, v.Total, "workloads", func(page int) string {
		return "workloads?" + url.Values{"q": {v.Filter.Text}, "team": {v.Filter.Team}, "page": {strconv.Itoa(page)}}.Encode()
	})
}

// IsFiltered reports whether anything is asked for but all.
func (v Workloads) IsFiltered() bool { return v.Filter.Text != "" || v.Filter.Team != "" }

// ShownState returns what a workload shows of its state: nil where all is well, or nothing is known.
func (v Workloads) ShownState(w answer.WorkloadPart) *answer.State {
	return worstOf(w.State, w.Worst, w.Assignments)
}

// workloadView is the data of workload.html.
type workloadView struct {
	answer.Workload
	Fleet     Fleet
	Questions bool // whether there are pages that explain
}

func newWorkloadView(a answer.Workload, questions bool) workloadView {
	f := answer.FleetFilter{Rows: answer.ByTarget, Columns: answer.ByEnvironment}
	f.Workload = a.Name
	return workloadView{a, Fleet{Fleet: a.Where, Filter: f, Questions: questions}, questions}
}

// assignmentView is the data of assignment.html.
type assignmentView struct {
	answer.Assignment
	Questions bool // whether there are pages that explain
}

// AsFleet returns what is known of clusters, as the fleet has it.
func (v assignmentView) AsFleet() answer.Fleet {
	return answer.Fleet{Ledger: v.Ledger, LedgerFails: v.LedgerFails, Environments: 1}
}

func policyState(p answer.PolicyOpinion) answer.State {
	if p.Selected {
		return answer.State{Tone: answer.Good, Word: "selects it"}
	}
	return answer.State{Tone: answer.Unknown, Word: "does not"}
}

func removalState(r *answer.ProposedRemoval) answer.State {
	if r.Assignments > 1 {
		return answer.State{Tone: answer.Stopped, Word: "removal proposed " + groupDigits(r.Assignments)}
	}
	return answer.State{Tone: answer.Stopped, Word: "removal proposed"}
}

func removalPath(r *answer.ProposedRemoval) string {
	path := "environments/" + url.PathEscape(r.Environment)
	if r.Pull != nil {
		path += "/pulls/" + strconv.Itoa(r.Pull.Number)
	}
	return path
}
