package answer

import (
	"cmp"
	"slices"
	"strings"
)

// What rows and columns of the fleet may be.
const (
	ByTeam        = "team"
	ByWorkload    = "workload"
	ByTarget      = "target"
	ByEnvironment = "environment"
	ByClusterType = "clusterType"
	ByRegion      = "region"
)

// FleetSides returns what rows and columns of the fleet may be.
func FleetSides() []string {
	return []string{ByTeam, ByWorkload, ByTarget, ByEnvironment, ByClusterType, ByRegion}
}

// The most rows and columns of a part of the fleet, and versions of a cell.
const (
	FleetRows    = 50
	FleetColumns = 12
	maxVersions  = 3
)

// FleetFilter is what is asked about the fleet. Pages are counted from 1.
type FleetFilter struct {
	AssignmentFilter
	Rows, Columns    string
	Differs          bool // only rows with several versions
	Page, ColumnPage int
}

// Fleet is the answer of /api/v1/fleet: how many assignments there are of each row and column, their versions,
// and how they stand.
type Fleet struct {
	Rows    string `json:"rows"`    // what they are
	Columns string `json:"columns"` // what they are
	// Ledger reports whether clusters can report, and LedgerFails whether they cannot be asked about now.
	Ledger      bool `json:"ledger"`
	LedgerFails bool `json:"ledgerFails,omitempty"`
	// Environments counts all that are known.
	Environments int `json:"environments"`
	// Unknown are the environments of which it is not known what is assigned, since they were not rendered
	// without problems in this process.
	Unknown []string `json:"unknown,omitempty"`
	// Assignments counts those that were asked for, and States them by the state of their worst cluster.
	Assignments int          `json:"assignments"`
	States      []StateCount `json:"states,omitempty"`
	// Total counts the rows, of which Items has one page, and TotalColumns the columns, of which Heads has
	// one page.
	Total        int         `json:"total"`
	TotalColumns int         `json:"totalColumns"`
	Page         int         `json:"page"`
	ColumnPage   int         `json:"columnPage"`
	Teams        []string    `json:"teams"` // of all deployment targets
	Heads        []FleetHead `json:"heads"`
	Items        []FleetRow  `json:"items"`
}

// StateCount is how many assignments are in a state.
type StateCount struct {
	State       State `json:"state"`
	Assignments int   `json:"assignments"`
}

// FleetHead is a column.
type FleetHead struct {
	Name        string `json:"name"`
	Assignments int    `json:"assignments"`
	State       *State `json:"state,omitempty"` // of an environment
}

// FleetRow is a row.
type FleetRow struct {
	Name string `json:"name"`
	// Workload is that of a deployment target.
	Workload string `json:"workload,omitempty"`
	// Assignments counts those of all columns.
	Assignments int  `json:"assignments"`
	Differs     bool `json:"differs,omitempty"` // it has several versions
	// Cells are by column.
	Cells []FleetCell `json:"cells"`
}

// FleetCell is the assignments of a row and a column.
type FleetCell struct {
	Assignments int `json:"assignments"`
	// Versions are those that clusters run, or else the wanted ones: the most frequent first, with the number
	// of assignments. MoreVersions counts the others.
	Versions     []VersionCount `json:"versions,omitempty"`
	MoreVersions int            `json:"moreVersions,omitempty"`
	// State is that of the worst cluster, and Worst how many assignments are in it; nil if there is no ledger.
	State *State `json:"state,omitempty"`
	Worst int    `json:"worst,omitempty"`
	rank  int    // of the state
	// Removal is set if some are removed by a change that is proposed: those of the first environment.
	Removal *ProposedRemoval `json:"removal,omitempty"`
}

// VersionCount is a version, and how many assignments have it.
type VersionCount struct {
	Version     string `json:"version"`
	Assignments int    `json:"assignments"`
}

func (c *FleetCell) add(a *assignment) {
	c.Assignments++
	version := a.version()
	i := slices.IndexFunc(c.Versions, func(v VersionCount) bool { return v.Version == version })
	if i < 0 {
		i = len(c.Versions)
		c.Versions = append(c.Versions, VersionCount{Version: version})
	}
	c.Versions[i].Assignments++
	switch {
	case a.removal == nil:
	case c.Removal == nil:
		removal := *a.removal
		c.Removal = &removal
	case c.Removal.Environment == a.environment:
		c.Removal.Assignments++
	}
	switch {
	case a.rank == noRank:
	case c.State == nil || a.rank > c.rank:
		state := a.state()
		c.State, c.Worst, c.rank = &state, 1, a.rank
	case c.rank == a.rank:
		c.Worst++
	}
}

func (c *FleetCell) finish() {
	c.Versions = slices.DeleteFunc(c.Versions, func(v VersionCount) bool { return v.Version == "" })
	slices.SortFunc(c.Versions, func(a, b VersionCount) int {
		return cmp.Or(cmp.Compare(b.Assignments, a.Assignments), strings.Compare(a.Version, b.Version))
	})
	c.MoreVersions = max(0, len(c.Versions)-maxVersions)
	c.Versions = c.Versions[:len(c.Versions)-c.MoreVersions]
}

func (a *assignment) sideOf(side string) string {
	switch side {
	case ByTeam:
		return a.target.Workspace
	case ByWorkload:
		return a.target.Workload
	case ByTarget:
		return a.target.Name
	case ByClusterType:
		return a.clusterType.Name
	case ByRegion:
		return a.clusterType.Labels[regionLabel]
	}
	return a.environment
}

// matrix is the cells of the fleet, by row and column.
type matrix struct {
	rows, columns map[string]int
	cells         [][]FleetCell
	items         []FleetRow
	heads         []FleetHead
	count         int
	states        [len(assignedStates)]int // how many assignments are in each
}

func newMatrix() *matrix { return &matrix{rows: map[string]int{}, columns: map[string]int{}} }

func (m *matrix) findColumn(name string) int {
	i, known := m.columns[name]
	if !known {
		i = len(m.heads)
		m.columns[name] = i
		m.heads = append(m.heads, FleetHead{Name: name})
	}
	return i
}

func (m *matrix) add(f FleetFilter, a *assignment) {
	row, column := a.sideOf(f.Rows), m.findColumn(a.sideOf(f.Columns))
	i, known := m.rows[row]
	if !known {
		i = len(m.items)
		m.rows[row] = i
		m.items, m.cells = append(m.items, FleetRow{Name: row}), append(m.cells, nil)
		if f.Rows == ByTarget {
			m.items[i].Workload = a.target.Workload
		}
	}
	for len(m.cells[i]) <= column {
		m.cells[i] = append(m.cells[i], FleetCell{})
	}
	m.count++
	if a.rank != noRank {
		m.states[a.rank]++
	}
	m.cells[i][column].add(a)
	m.items[i].Assignments++
	m.heads[column].Assignments++
}

func (m *matrix) countStates() (all []StateCount) {
	for i, n := range slices.Backward(m.states[:]) {
		if n > 0 {
			all = append(all, StateCount{assignedStates[i], n})
		}
	}
	return all
}

func (m *matrix) differs(row int) bool {
	first := ""
	for _, c := range m.cells[row] {
		for _, v := range c.Versions {
			if first == "" {
				first = v.Version
			}
			if v.Version != first && v.Version != "" {
				return true
			}
		}
	}
	return false
}

// Fleet returns what is assigned, row by row.
func (s Source) Fleet(f FleetFilter) Fleet {
	f.Rows, f.Columns = chooseSide(f.Rows, ByWorkload), chooseSide(f.Columns, ByEnvironment)
	answer := Fleet{Rows: f.Rows, Columns: f.Columns, Ledger: s.Ledger, LedgerFails: s.LedgerFails, Environments: len(s.Names()), Heads: []FleetHead{}, Items: []FleetRow{}}
	answer.Unknown, answer.Teams = s.listUnplanned(f.Environment), s.ListTeams()
	m := newMatrix()
	if f.Columns == ByEnvironment {
		for _, name := range s.Names() { // in the order of promotion
			if s.Snapshot.Plans[name] != nil && (f.Environment == "" || f.Environment == name) {
				m.findColumn(name)
			}
		}
	}
	s.visitAssignments(f.AssignmentFilter, func(a *assignment) {
		m.add(f, a)
	})
	answer.Assignments, answer.States = m.count, m.countStates()
	order := make([]int, 0, len(m.items))
	for i := range m.items {
		m.items[i].Differs = m.differs(i)
		if m.items[i].Differs || !f.Differs {
			order = append(order, i)
		}
	}
	s.sortSide(order, f.Rows, func(i int) string { return m.items[i].Name })
	columns := make([]int, len(m.heads))
	for i := range columns {
		columns[i] = i
	}
	s.sortSide(columns, f.Columns, func(i int) string { return m.heads[i].Name })
	answer.Total, answer.TotalColumns = len(order), len(columns)
	order, answer.Page = pageOf(order, f.Page, FleetRows)
	columns, answer.ColumnPage = pageOf(columns, f.ColumnPage, FleetColumns)
	for _, i := range columns {
		answer.Heads = append(answer.Heads, s.describeHead(m.heads[i], f.Columns))
	}
	for _, i := range order {
		answer.Items = append(answer.Items, m.row(i, columns))
	}
	return answer
}

func (m *matrix) row(i int, columns []int) FleetRow {
	row := m.items[i]
	row.Cells = make([]FleetCell, len(columns))
	for n, column := range columns {
		if column < len(m.cells[i]) {
			row.Cells[n] = m.cells[i][column]
			row.Cells[n].finish()
		}
	}
	return row
}

func (s Source) describeHead(h FleetHead, side string) FleetHead {
	if side != ByEnvironment {
		return h
	}
	for _, e := range s.listEnvironments() {
		if e.Name == h.Name {
			h.State = &State{e.State.Tone, e.State.Word}
		}
	}
	return h
}

// sortSide sorts rows or columns: environments by the order of promotion, others by name.
func (s Source) sortSide(order []int, side string, name func(int) string) {
	rank := map[string]int{}
	if side == ByEnvironment {
		for i, n := range s.Names() {
			rank[n] = i
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank[name(a)], rank[name(b)]), strings.Compare(name(a), name(b)))
	})
}

func chooseSide(asked, otherwise string) string {
	if slices.Contains(FleetSides(), asked) {
		return asked
	}
	return otherwise
}

// pageOf returns a page of a list, counted from 1, and its number: the last one for a number that is too high.
func pageOf[T any](all []T, page, size int) ([]T, int) {
	page = max(1, min(page, (len(all)+size-1)/size))
	return all[(page-1)*size : min(page*size, len(all))], page
}

// listUnplanned returns the environments of which it is not known what is assigned: the one that is named,
// or all.
func (s Source) listUnplanned(named string) (names []string) {
	for _, name := range s.Names() {
		if s.Snapshot.Plans[name] == nil && (named == "" || named == name) {
			names = append(names, name)
		}
	}
	return names
}
