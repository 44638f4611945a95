package plaintext

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func formatAssigned(of any, f Facts, to *display.Stream) (string, error) {
	now := f.Now
	switch a := of.(type) {
	case answer.Workload:
		return formatWorkload(a, to), nil
	case answer.ClusterType:
		return formatMatrix(a.Where, false, to) + formatLate(a.Late, a.MoreLate, to) + formatStandings(a.Clusters, a.MoreClusters, now, to), nil
	case answer.Cluster:
		return formatCluster(a, now, to), nil
	case answer.Assignment:
		return formatAssignment(a, to), nil
	case answer.FleetMap:
		lines := fmt.Sprintf("%s: %s, %s\n", cmp.Or(a.Environment, "no environment"), text.Count(len(a.ClusterTypes), "cluster type"), text.Count(len(a.Targets), "deployment target"))
		for _, c := range a.Counts {
			lines += fmt.Sprintf("%s: %d\n", c.State.Word, c.Assignments)
		}
		then := ""
		if f.At != "" {
			then = "&at=" + url.QueryEscape(f.At)
		}
		return lines + "/fleet?rows=target&cols=clusterType&env=" + url.QueryEscape(a.Environment) + then + " has them as a table\n", nil
	}
	return "", fmt.Errorf("a page of %T has no text", of)
}

func newWorkloadsTable(a answer.Workloads, filtered bool) Table {
	t := Table{Columns: []Column{{Key: "workload"}, {Key: "team"}, {Key: "targets"}, {Key: "assignments"}, {Key: "state"}, {Key: "environments"}}, Empty: "there is no workload yet\n", Below: formatRest(len(a.Items), a.Total, a.Page)}
	if filtered {
		t.Empty = "there is no such workload\n"
	}
	for _, w := range a.Items {
		t.Rows = append(t.Rows, []any{w.Name, w.Team, w.Targets, w.Assignments, formatWorst(w.State, w.Worst, w.Assignments), w.Environments})
	}
	return t
}

func newClusterTypesTable(a answer.ClusterTypes, filtered bool) Table {
	t := Table{Columns: []Column{{Key: "clusterType"}, {Key: "clusters"}, {Key: "assignments"}, {Key: "state"}, {Key: "environments"}, {Key: "labels"}}, Empty: "there is no cluster type yet\n", Below: formatRest(len(a.Items), a.Total, a.Page)}
	if filtered {
		t.Empty = "there is no such cluster type\n"
	}
	for _, c := range a.Items {
		clusters := any(c.Clusters)
		if c.Clusters == 0 && !a.Ledger { // unknown
			clusters = ""
		}
		t.Rows = append(t.Rows, []any{c.Name, clusters, c.Assignments, formatWorst(c.State, c.Worst, c.Assignments), c.Environments, formatLabels(c.Labels)})
	}
	return t
}

// NewAssignmentsTable returns assignments as a table.
func NewAssignmentsTable(all []answer.AssignmentPart) Table {
	t := Table{Columns: []Column{{Key: "environment"}, {Key: "clusterType"}, {Key: "target"}, {Key: "wanted"}, {Key: "runs"}, {Key: "clusters"}, {Key: "state"}, {Key: "why"}}}
	for _, a := range all {
		state := ""
		if a.State != nil {
			state = a.State.Word
		}
		clusters := any(a.Clusters)
		if a.Clusters == 0 && a.State == nil { // unknown
			clusters = ""
		}
		t.Rows = append(t.Rows, []any{a.Environment, a.ClusterType, a.Target, a.Wanted, a.Runs, clusters, state, a.Reason})
	}
	return t
}

func formatWorst(s *answer.State, worst, all int) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s %d/%d", s.Word, worst, all)
}

func formatLabels(all []answer.Label) string {
	var pairs []string
	for _, l := range all {
		pairs = append(pairs, l.Key+"="+l.Value)
	}
	return strings.Join(pairs, ",")
}

func formatMatrix(a answer.Fleet, filtered bool, to *display.Stream) string {
	t := Table{Columns: []Column{{Key: a.Rows}}, Empty: "nothing is assigned\n", Below: formatRest(len(a.Items), a.Total, a.Page)}
	if filtered {
		t.Empty = "nothing that is assigned is like that\n"
	}
	for _, h := range a.Heads {
		t.Columns = append(t.Columns, Column{Key: h.Name})
	}
	for _, r := range a.Items {
		row := []any{r.Name}
		for _, c := range r.Cells {
			row = append(row, formatCell(c))
		}
		t.Rows = append(t.Rows, row)
	}
	return t.Format(to, false)
}

// formatLate begins with a blank line; "" if all are ready.
func formatLate(all []answer.AssignmentPart, more int, to *display.Stream) string {
	if len(all) == 0 {
		return ""
	}
	t := Table{Columns: []Column{{Key: "notReady"}, {Key: "state"}, {Key: "runs"}, {Key: "wants"}, {Key: "why", Fit: display.Wrap}}}
	for _, a := range all {
		state := ""
		if a.State != nil {
			state = a.State.Word
		}
		t.Rows = append(t.Rows, []any{a.Environment + ": " + a.ClusterType + "/" + a.Target, state, a.Runs, a.Wanted, a.Reason})
	}
	return "\n" + t.Format(to, false) + formatMore(more)
}

func formatMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("and %d more\n", n)
}

func formatWorkload(a answer.Workload, to *display.Stream) string {
	lines := formatMatrix(a.Where, false, to) + formatLate(a.Late, a.MoreLate, to)
	t := Table{Columns: []Column{{Key: "target"}, {Key: "environment"}, {Key: "writtenIn"}, {Key: "manifests"}}, Empty: "it has no deployment target\n"}
	for _, one := range a.Targets {
		t.Rows = append(t.Rows, []any{one.Name, one.Environment, one.Place, formatLabels(one.Manifests)})
	}
	lines += "\n" + t.Format(to, false)
	if len(a.Releases) > 0 {
		t := Table{Columns: []Column{{Key: "since"}, {Key: "version"}, {Key: "target"}, {Key: "environment"}, {Key: "until"}, {Key: "clusters"}, {Key: "failed"}}}
		for _, r := range a.Releases {
			t.Rows = append(t.Rows, []any{FormatTime(r.Since), r.Version, r.Target, r.Environment, FormatTime(r.Until), r.Clusters, r.Failed})
		}
		lines += "\n" + t.Format(to, false)
	}
	return lines
}

func formatStandings(all []answer.ClusterStanding, more int, now time.Time, to *display.Stream) string {
	if len(all) == 0 {
		return ""
	}
	t := Table{Columns: []Column{{Key: "cluster"}, {Key: "environment"}, {Key: "state"}, {Key: "runs"}, {Key: "lastSeen"}, {Key: "why", Fit: display.Wrap}}}
	for _, c := range all {
		runs := ""
		if c.Revision != "" {
			runs = "output " + Revision(c.Revision).String()
		}
		if c.Commit != nil {
			runs = text.ShortCommit(c.Commit.ID) + " " + c.Commit.Subject
		}
		t.Rows = append(t.Rows, []any{c.Name, c.Environment, c.State.Word, runs, NewAge(c.LastSeen, now), c.Why})
	}
	return "\n" + t.Format(to, false) + formatMore(more)
}

func formatCluster(a answer.Cluster, now time.Time, to *display.Stream) string {
	lines := a.Name + "\n"
	if len(a.Standings) == 0 {
		lines += "it has not reported\n"
	}
	lines += formatStandings(a.Standings, 0, now, to)
	if len(a.Objects) == 0 {
		return lines
	}
	t := Table{Columns: []Column{{Key: "object"}, {Key: "phase"}, {Key: "runs"}, {Key: "message", Fit: display.Wrap}}}
	for _, o := range a.Objects {
		t.Rows = append(t.Rows, []any{o.Object, o.Phase, Revision(o.Revision), o.Message})
	}
	return lines + "\n" + t.Format(to, false) + formatMore(a.MoreObjects)
}

func formatAssignment(a answer.Assignment, to *display.Stream) string {
	state, runs := "not assigned", []string{}
	if a.Assigned {
		state = "assigned"
	}
	if a.State != nil {
		state = a.State.Word
	}
	for _, v := range a.Versions {
		runs = append(runs, fmt.Sprintf("%s on %s", cmp.Or(v.Version, "nothing yet"), text.Count(v.Clusters, "cluster")))
	}
	lines := fmt.Sprintf("%s/%s in %s: %s\nwanted: %s\n", a.ClusterType, a.Target, a.Environment, state, FormatCell(a.Wanted))
	switch {
	case len(a.Ran) > 0:
		lines += "ran: " + summarizePastRuns(a.Ran) + "\n"
	case len(a.Applied) > 0:
		lines += "ran: nothing was reported of its objects; what applies their output: " + summarizePastRuns(a.Applied) + "\n"
	default:
		lines += "runs: " + FormatCell(cmp.Or(strings.Join(runs, ", "), a.Runs)) + "\n"
	}
	if a.Reason != "" {
		lines += a.Reason + "\n"
	}
	t := Table{Columns: []Column{{Key: "policy"}, {Key: "selectsIt"}, {Key: "writtenIn"}, {Key: "clusterType"}, {Key: "target"}}, Empty: "the environment has no policy\n"}
	for _, p := range a.Policies {
		t.Rows = append(t.Rows, []any{p.Name, p.Selected, p.Place, p.ClusterType, p.Target})
	}
	return lines + "\n" + t.Format(to, false)
}
