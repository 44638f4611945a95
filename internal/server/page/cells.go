package page

import (
	"net/url"
	"slices"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// maxNarrow is how many columns of a row a narrow window shows.
const maxNarrow = 5

// Minor returns for each cell of a row whether a narrow window leaves it out: it shows the most urgent ones.
func (v Fleet) Minor(row answer.FleetRow) []bool {
	var there []int
	for i, c := range row.Cells {
		if c.Assignments > 0 {
			there = append(there, i)
		}
	}
	tone := func(i int) answer.Tone {
		if s := row.Cells[i].State; s != nil {
			return s.Tone
		}
		return answer.Good
	}
	slices.SortStableFunc(there, func(a, b int) int { return answer.CompareUrgency(tone(b), tone(a)) })
	minor := make([]bool, len(row.Cells))
	for _, i := range there[min(len(there), maxNarrow):] {
		minor[i] = true
	}
	return minor
}

// Left counts the cells of a row that a narrow window leaves out.
func (v Fleet) Left(minor []bool) (n int) {
	for _, isMinor := range minor {
		if isMinor {
			n++
		}
	}
	return n
}

// ExplainLink returns the page that explains what a cell is about; "" if there is none.
func (v Fleet) ExplainLink(row answer.FleetRow, column int) string {
	f := narrowFilter(narrowFilter(v.Filter, v.Rows, row.Name), v.Columns, v.Heads[column].Name)
	if !v.Questions || f.Environment == "" {
		return ""
	}
	asked := f.Workload
	switch {
	case f.ClusterType != "" && f.Target != "":
		asked = f.ClusterType + "/" + f.Target
	case f.Target != "":
		asked = "DeploymentTarget/" + f.Target
	case asked == "" && f.ClusterType != "":
		asked = "ClusterType/" + f.ClusterType
	}
	if asked == "" {
		return ""
	}
	return "explain?env=" + url.QueryEscape(f.Environment) + "&q=" + url.QueryEscape(asked)
}
