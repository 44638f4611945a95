package page

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// ClusterTypes is the page of cluster types: the answer, and how it was asked for.
type ClusterTypes struct {
	answer.ClusterTypes
	Filter answer.ClusterTypeFilter
}

// ParseClusterTypeFilter returns the filter that the parameters of an address mean.
func ParseClusterTypeFilter(query url.Values) answer.ClusterTypeFilter {
	page, _ := strconv.Atoi(query.Get("page")) // another text is the first page
	return answer.ClusterTypeFilter{Text: query.Get("q"), Label: query.Get("label"), Page: page}
}

// Pager returns the way to other cluster types.
func (v ClusterTypes) Pager() pager {
	return newListPager("cluster-types", v.Page, v.Total, url.Values{"q": {v.Filter.Text}, "label": {v.Filter.Label}})
}

// ShownState returns what a cluster type shows of its state: nil where all is well, or nothing is known.
func (v ClusterTypes) ShownState(c answer.ClusterTypePart) *answer.State {
	return worstOf(c.State, c.Worst, c.Assignments)
}

type clusterTypeView struct {
	answer.ClusterType
	Fleet     Fleet
	Questions bool // whether there are pages that explain
}

func newClusterTypeView(a answer.ClusterType, questions bool) clusterTypeView {
	f := answer.FleetFilter{Rows: answer.ByTarget, Columns: answer.ByEnvironment}
	f.ClusterType = a.Name
	return clusterTypeView{a, Fleet{Fleet: a.Where, Filter: f, Questions: questions}, questions}
}

// maxWritten is of how many environments it is shown in full where a cluster type is written.
const maxWritten = 12

// WrittenFirst returns where it is written in the first environments, and WrittenRest in the others.
func (v clusterTypeView) WrittenFirst() []answer.WrittenType {
	return v.Written[:min(len(v.Written), maxWritten)]
}

// WrittenRest is described at WrittenFirst.
func (v clusterTypeView) WrittenRest() []answer.WrittenType { return v.Written[len(v.WrittenFirst()):] }

// clusterView is the data of cluster.html.
type clusterView struct{ answer.Cluster }

// State returns how the cluster stands where it belongs: a ready one may have objects that failed.
func (v clusterView) State() answer.State {
	if len(v.Standings) == 0 {
		return answer.State{Tone: answer.Unknown, Word: "no report"}
	}
	failed, drifted := 0, 0
	for _, o := range v.Objects {
		switch {
		case o.Phase == stackview.Drifted:
			drifted++
		case answer.PhaseState(o.Phase).Tone == answer.Bad:
			failed++
		}
	}
	state := v.Standings[0].State
	switch {
	case state.Tone == answer.Good && failed > 0:
		return answer.State{Tone: answer.Bad, Word: text.Count(failed, "object") + " failed"}
	case state.Tone == answer.Good && drifted > 0:
		return answer.State{Tone: answer.Bad, Word: stackview.Drifted}
	}
	return state
}

func poolText(p answer.ProvisionedPool) string {
	text := fmt.Sprintf("%s %d", p.Name, p.Most)
	if p.Fewest != p.Most {
		text = fmt.Sprintf("%s %d to %d", p.Name, p.Fewest, p.Most)
	}
	if p.Provider != "" {
		text += ", " + p.Provider
	}
	return text
}
