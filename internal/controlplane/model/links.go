package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// linkedLists are the long lists of a model, from which those of the next model are made.
type linkedLists struct {
	workloads sortedList[workload]
	made      targetLists
	targets   sortedList[Target]
}

// linkContent makes the model of the objects of all layers and checks them against each
// other. It appends problems to all.problems.
func linkContent(env string, all *content, last *linkedLists) *Model {
	m := &Model{Environment: env}
	problems := &all.problems
	m.Environments = uniqueByName(all.environments, problems, func(e *Environment) *Object { return &e.Object })
	m.BaseRepos = uniqueByName(all.baseRepos, problems, func(b *BaseRepo) *Object { return &b.Object })
	m.GitOpsRepos = uniqueByName(all.gitOpsRepos, problems, func(g *GitOpsRepo) *Object { return &g.Object })
	m.ClusterTypes = uniqueByName(all.clusterTypes, problems, func(c *ClusterType) *Object { return &c.Object })
	m.checkClusters(all.progress.Clusters, all.importedTypes, problems)
	m.divideTypes(&all.progress, problems)
	m.Templates = uniqueByName(withoutOverridden(all.templates), problems, func(t *Template) *Object { return &t.Object })
	m.Policies = uniqueByName(all.policies, problems, func(p *Policy) *Object { return &p.Object })
	m.Registrations = uniqueByName(all.registrations, problems, func(r *Registration) *Object { return &r.Object })
	m.Configs = uniqueByName(all.configs, problems, func(c *Config) *Object { return &c.Object })
	m.Schemas = uniqueByName(all.schemas, problems, func(s *Schema) *Object { return &s.Object })
	m.Decisions = uniqueByName(all.decisions, problems, func(d *Decision) *Object { return &d.Object })
	m.Measures = uniqueByName(all.measures, problems, func(m *Measures) *Object { return &m.Object })
	all.stacks.List = all.stacks.takeBlueprints(all.stacks.blueprints, all)
	m.Stacks = all.stacks.unique(problems)
	m.Clusters = all.clusters.compose(all)
	m.Ignored, m.Broken, m.disabled = all.ignored, all.broken, all.disabled
	last.workloads = last.workloads.nextList(all.workloads, problems, func(w *workload) *Object { return &w.Object })
	last.made = last.made.nextLists(m, last.workloads.kept)
	warnOwned(env, all.targets, last.workloads.kept, problems)
	targets := m.pinTargets(m.collectTargets(last.made, all.targets, problems), &all.pins, problems)
	last.targets = last.targets.nextList(targets, problems, func(t *Target) *Object { return &t.Object })
	m.Targets, m.workloads, m.written = last.targets.kept, last.workloads.kept, all.targets
	if !m.Broken {
		m.checkGitOpsRepo(problems)
	}
	m.applyChoices(all.choices, problems)
	m.checkDecisionFiles(all.besides, problems)
	m.placePolicies(&all.placements, problems)
	if err := cmp.Or(kubename.Check(env), gitname.CheckBranch(env)); err != nil { // it is a part of names of branches
		problems.Addf(problem.Pos{}, "Environment/"+env, "", "%v", err)
	}
	return m
}

// sortedList is a list of objects, and what unique has kept of it.
type sortedList[T any] struct{ given, kept []*T }

// nextList replaces objects in place where it can: of thousands, few are in the processor's caches.
func (s sortedList[T]) nextList(objects []*T, problems *problem.List, object func(*T) *Object) sortedList[T] {
	kept := slices.Clone(s.kept)
	same := len(objects) == len(s.given) && len(kept) == len(s.given) // all have different names
	for i := 0; same && i < len(objects); i++ {
		if objects[i] == s.given[i] {
			continue
		}
		name := object(objects[i]).Name
		at, _ := slices.BinarySearchFunc(kept, name, func(o *T, name string) int { return strings.Compare(object(o).Name, name) })
		same = object(s.given[i]).Name == name
		if same {
			kept[at] = objects[i]
		}
	}
	if !same {
		kept = uniqueByName(objects, problems, object)
	}
	return sortedList[T]{objects, kept}
}

// uniqueByName sorts objects of one kind by name and reports those with the same name:
// Flux would apply them in turn, for ever. It keeps the first by position.
func uniqueByName[T any](objects []*T, problems *problem.List, object func(*T) *Object) []*T {
	named := make([]namedObject[T], 0, len(objects))
	for _, o := range objects {
		// One without a name, or with one that cannot be a folder's, was reported before.
		if name := object(o).Name; gitname.IsFolder(name) {
			named = append(named, namedObject[T]{name, o})
		}
	}
	slices.SortFunc(named, func(a, b namedObject[T]) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return object(a.object).Pos.Compare(object(b.object).Pos)
	})
	kept := make([]*T, 0, len(named))
	for i, e := range named {
		if i > 0 && named[i-1].name == e.name {
			first, second := object(kept[len(kept)-1]), object(e.object)
			problems.Addf(second.Pos, second.Subject(), "remove one of them, or give it another name",
				"there is another %s of this name at %s", second.Kind, first.Pos)
			continue
		}
		kept = append(kept, e.object)
	}
	return kept
}

// namedObject keeps names next to each other: thousands are compared for every model.
type namedObject[T any] struct {
	name   string
	object *T
}

func withoutOverridden(templates []*Template) []*Template {
	written := map[string]bool{}
	for _, t := range templates {
		if !t.BuiltIn {
			written[t.Name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(templates), func(t *Template) bool { return t.BuiltIn && written[t.Name] })
}

type targetLists struct {
	of         []*workload
	workspaces map[string]string // by registration
	targets    []*Target
	ends       []int // of each workload, where its targets end
	problems   problem.List
}

// nextLists does not visit workloads that are still in their places.
func (l targetLists) nextLists(m *Model, workloads []*workload) targetLists {
	n := targetLists{of: workloads, workspaces: map[string]string{}}
	for _, r := range m.Registrations {
		n.workspaces[r.Name] = r.Workspace
	}
	known := len(l.of) == len(workloads) && l.problems == nil && maps.Equal(l.workspaces, n.workspaces)
	begin := 0 // of the workload's targets before
	for i, w := range workloads {
		if known && l.of[i] == w {
			n.targets = append(n.targets, l.targets[begin:l.ends[i]]...)
		} else {
			made := w.targetsIn(m.Environment, n.workspaces[w.registration])
			n.targets, n.problems = append(n.targets, made.targets...), append(n.problems, made.problems...)
		}
		n.ends = append(n.ends, len(n.targets))
		if known {
			begin = l.ends[i]
		}
	}
	return n
}

func (m *Model) collectTargets(made targetLists, written []*Target, problems *problem.List) []*Target {
	all := made.targets[:len(made.targets):len(made.targets)]
	*problems = append(*problems, made.problems...)
	for _, t := range written {
		if t.Environment == m.Environment {
			all = append(all, t)
			checkTarget(t, problems)
		}
	}
	return all
}

// warnOwned warns of written targets whose label names a workload that exists: Kalypso deletes them, since
// the workload does not list them, and Flux makes them again.
func warnOwned(env string, written []*Target, workloads []*workload, problems *problem.List) {
	for _, t := range written {
		_, exists := slices.BinarySearchFunc(workloads, t.Workload, func(w *workload, name string) int { return strings.Compare(w.Name, name) })
		if exists && t.Environment == env {
			problems.Warnf(t.Pos, t.Subject(), "list the target in the Workload, or give the label another value",
				"Kalypso would delete this target: its label workload names Workload/%s, which does not list it", t.Workload)
		}
	}
}

// targetsIn makes the targets once: an unchanged workload has the same ones in the next model.
func (w *workload) targetsIn(env, workspace string) *workloadTargets {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last != nil && w.last.env == env && w.last.workspace == workspace {
		return w.last
	}
	made := &workloadTargets{env: env, workspace: workspace}
	for i := range w.targets {
		if w.targets[i].Environment == env && w.targets[i].Name.Text != "" {
			t := w.makeTarget(&w.targets[i], workspace, &made.problems)
			checkTarget(t, &made.problems)
			made.targets = append(made.targets, t)
		}
	}
	w.last = made
	return made
}

type workloadTargets struct {
	env, workspace string
	targets        []*Target
	problems       problem.List
}

// makeTarget gives a target its own labels, over them the workload's, then the two that Kalypso sets.
func (w *workload) makeTarget(s *targetSpec, workspace string, problems *problem.List) *Target {
	t := &Target{
		Object: Object{
			Kind: "DeploymentTarget", Name: w.Name + "-" + s.Name.Text,
			Labels: map[string]string{}, Pos: w.pos(s.Name.Line),
		},
		Workload: w.Name, Workspace: workspace, Environment: s.Environment, Manifests: s.Manifests,
		DependsOn: dependenciesOf(s.Annotations, w.pos), Team: w.registration != "", registration: w.registration,
	}
	maps.Copy(t.Labels, s.Labels)
	maps.Copy(t.Labels, w.Labels)
	t.Labels[workloadLabel], t.Labels[workspaceLabel] = w.Name, workspace
	t.Schemas = ownSchemas(t.Object, w.pos, s.ConfigSchemas)
	t.Requests = readRequests(s.Annotations, t.Subject(), w.pos, problems).overWorkload(w.requests.ofTarget(s.Name.Text))
	checkSizes(&t.Object, &t.DependsOn, &t.Schemas, problems)
	t.DependsOn, t.Schemas = slices.Concat(w.dependsOn, t.DependsOn), append(t.Schemas, ownSchemas(w.Object, w.pos, w.schemas)...)
	return t
}

func checkTarget(t *Target, problems *problem.List) {
	if err := kubename.Check(t.Name); err != nil {
		problems.Addf(t.Pos, t.Subject(), "the name is the workload's, a dash, and the target's", "%v", err)
	}
	for _, name := range []string{t.Name, t.Workload} {
		if len(name) > kubename.MaxLabel {
			problems.Addf(t.Pos, t.Subject(), "shorten the name of the workload or of the target", "the names of workloads and deployment targets become labels: %q is %d characters long, and %d is the limit",
				name, len(name), kubename.MaxLabel)
		}
	}
	for _, key := range sortedKeys(t.Labels) {
		if isTemplate(t.Labels[key]) && !t.Team {
			continue
		}
		for _, err := range []error{kubename.CheckLabelKey(key), kubename.CheckLabelValue(t.Labels[key])} {
			if err != nil && key != workloadLabel {
				problems.Addf(t.Pos, t.Subject(), labelHint, "%v", err)
			}
		}
	}
	if !t.Team {
		return
	}
	for _, key := range sortedKeys(t.Manifests) { // Kalypso would expand them
		if isTemplate(key) || isTemplate(t.Manifests[key]) {
			*problems = append(*problems, problem.Problem{
				Pos: t.Pos, Subject: t.Subject(), Warning: !slices.Contains(sourceKeys, key),
				Summary: fmt.Sprintf("manifests.%s contains \"{{\", which is not expanded: the manifests of a workload are data", key),
				Hint:    "write the value out, or ask the platform team to set it in a template or a config",
			})
		}
	}
}

// sourceKeys are the keys of manifests that built-in templates find what they deploy by: with "{{" in
// one of them, a cluster finds nothing.
var sourceKeys = []string{"branch", "chart", "commit", "digest", "module", "path", "repo", "revision", "semver", "tag", "version"}

func (m *Model) checkGitOpsRepo(problems *problem.List) {
	switch len(m.GitOpsRepos) {
	case 0:
		problems.Addf(problem.Pos{Layer: m.Environment}, "Environment/"+m.Environment,
			"add a GitOpsRepo to the environment's branch",
			"there is no GitOpsRepo, so there is nowhere to publish to")
	case 1:
	default:
		second := m.GitOpsRepos[1]
		problems.Warnf(second.Pos, second.Subject(), "",
			"this GitOpsRepo is ignored: an environment has one, and GitOpsRepo/%s is used", m.GitOpsRepos[0].Name)
	}
}
