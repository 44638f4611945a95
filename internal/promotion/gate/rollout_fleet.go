package gate

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// The values of a rollout's of and objects; the first are the defaults.
const (
	ofKnown, ofExpected         = "known", "expected"
	objectsPlatform, objectsAll = "platform", "all"
)

func (g *rolloutGate) applyFleet(spec model.GateSpec, s rolloutSpec) problem.List {
	var problems problem.List
	for _, field := range []struct {
		name, value string
		known       []string
	}{{"of", s.Of, []string{ofKnown, ofExpected}}, {"objects", s.Objects, []string{objectsPlatform, objectsAll}}} {
		if field.value != "" && !slices.Contains(field.known, field.value) {
			problems = append(problems, spec.Problem("write "+strings.Join(field.known, " or "), "%s cannot be %q", field.name, field.value))
		}
	}
	if s.Of != ofExpected {
		for _, field := range []struct {
			name    string
			written bool
		}{{"objects", s.Objects != ""}, {"groups", s.Groups.By != "" || s.Groups.Percent != nil}, {"failures", s.Failures.Percent != nil}} {
			if field.written {
				problems = append(problems, spec.Problem("add of: expected", "%s is for expected clusters", field.name))
			}
		}
		return problems
	}
	if g.customContexts {
		problems = append(problems, spec.Problem("remove contexts, or of: expected", "commit statuses do not prove which cluster they are of, so expected clusters have no contexts"))
	}
	g.allObjects = s.Objects == objectsAll
	g.fleet = &rollout.FleetRule{Rule: g.rule, By: s.Groups.By, Percents: s.Groups.Percent, FailurePercent: -1}
	if s.Failures.Percent != nil {
		g.fleet.FailurePercent = *s.Failures.Percent
		if *s.Failures.Percent > 100 {
			problems = append(problems, spec.Problem("write a number from 0 to 100", "failures.percent is %d", *s.Failures.Percent))
		}
	}
	return append(problems, checkGroups(spec, s)...)
}

func checkGroups(spec model.GateSpec, s rolloutSpec) problem.List {
	var problems problem.List
	label, byLabel := strings.CutPrefix(s.Groups.By, rollout.ByLabel)
	switch {
	case s.Groups.By == "" && s.Groups.Percent != nil:
		problems = append(problems, spec.Problem("add by: group, by: clusterType, or by: label:KEY", "groups do not say what clusters are grouped by"))
	case s.Groups.By == "", s.Groups.By == rollout.ByGroup, s.Groups.By == rollout.ByWave, s.Groups.By == rollout.ByClusterType, byLabel && kubename.CheckLabelKey(label) == nil:
	default:
		problems = append(problems, spec.Problem("write group, clusterType, or label:KEY with a label of clusters or their types", "groups.by cannot be %q", s.Groups.By))
	}
	if s.Groups.By != "" && s.Clusters > 1 {
		problems = append(problems, spec.Problem("remove it, and say with the annotation fairlead.io/clusters of each cluster type how many there are", "clusters is for one group"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Groups.Percent)) {
		if percent := s.Groups.Percent[name]; percent < 1 || percent > 100 {
			problems = append(problems, spec.Problem("remove it to require all of them", "groups.percent.%s is %d, and should be from 1 to 100", name, percent))
		}
	}
	return problems
}

func (g rolloutGate) fleetKey(f Facts) string {
	if g.allObjects {
		return "fleet with all objects " + f.Environment
	}
	return "fleet " + f.Environment
}
