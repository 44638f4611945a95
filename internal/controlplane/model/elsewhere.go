package model

import (
	"iter"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Elsewhere yields the deployment targets that are written for other environments, without labels and
// manifests.
func (m *Model) Elsewhere() iter.Seq[*Target] {
	return func(yield func(*Target) bool) {
		for _, w := range m.workloads {
			for i := range w.targets {
				s := &w.targets[i]
				if s.Environment == m.Environment || s.Name.Text == "" {
					continue
				}
				t := &Target{Object: Object{Kind: "DeploymentTarget", Name: w.Name + "-" + s.Name.Text, Pos: w.pos(s.Name.Line)}, Workload: w.Name, Environment: s.Environment}
				if !yield(t) {
					return
				}
			}
		}
		for _, t := range m.written {
			if t.Environment != m.Environment && !yield(&Target{Object: Object{Kind: t.Kind, Name: t.Name, Pos: t.Pos}, Workload: t.Workload, Environment: t.Environment}) {
				return
			}
		}
	}
}

// CheckEnvironments warns of an output branch that is nearly the name of an environment, and of the environments that deployment
// targets are written for and that are not among
// names, each once. Kalypso ignores such targets.
func (m *Model) CheckEnvironments(names []string) problem.List {
	first, count := map[string]*Target{}, map[string]int{}
	for t := range m.Elsewhere() {
		if t.Environment == "" || slices.Contains(names, t.Environment) {
			continue
		}
		if f := first[t.Environment]; f == nil || t.Pos.Compare(f.Pos) < 0 {
			first[t.Environment] = t
		}
		count[t.Environment]++
	}
	var problems problem.List
	for _, env := range sortedKeys(first) {
		also := ""
		if count[env] > 1 {
			also = "; " + text.Count(count[env], "deployment target") + " are written for it"
		}
		problems.Warnf(first[env].Pos, first[env].Subject(), EnvironmentHint(env, names), "environment %s does not exist%s", env, also)
	}
	for _, g := range m.GitOpsRepos {
		if near := problem.FindNearest(g.Branch, names); near != "" && !slices.Contains(names, g.Branch) {
			problems.Warnf(g.Pos, g.Subject(), problem.DidYouMean(g.Branch, names), "the output goes to branch %s, which is nearly the name of environment %s", g.Branch, near)
		}
	}
	return problems
}

// EnvironmentHint returns a hint for an environment that does not exist.
func EnvironmentHint(env string, names []string) string {
	if near := problem.DidYouMean(env, names); near != "" {
		return near
	}
	return "the environments are " + strings.Join(names, ", ")
}
