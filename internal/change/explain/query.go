package explain

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// QueryError is the reason why a query has no answer.
type QueryError struct {
	Summary string // one sentence without a full stop
	Hint    string // what to query instead; may be ""
}

// Error implements error: it returns the summary.
func (e *QueryError) Error() string { return e.Summary }

type subject struct {
	query  string
	answer func(*explainer, *Answer)
}

type kind struct {
	name   string
	names  func(*model.Model) []string
	answer func(q *explainer, name string, a *Answer)
}

var kinds = []kind{
	{"ClusterType", func(m *model.Model) []string { return namesOf(m.ClusterTypes) }, func(q *explainer, name string, a *Answer) { a.ClusterType = q.explainClusterType(name) }},
	{"Workload", workloadNames, func(q *explainer, name string, a *Answer) { a.Workload = q.explainWorkload(name) }},
	{"DeploymentTarget", func(m *model.Model) []string { return namesOf(m.Targets) }, func(q *explainer, name string, a *Answer) { a.Target = q.explainTarget(name) }},
	{"SchedulingPolicy", func(m *model.Model) []string { return namesOf(m.Policies) }, func(q *explainer, name string, a *Answer) { a.Policy = q.explainPolicy(name) }},
	{"ConfigMap", func(m *model.Model) []string { return namesOf(m.Configs) }, func(q *explainer, name string, a *Answer) { a.Config = q.explainConfig(name) }},
	{"ConfigSchema", func(m *model.Model) []string { return namesOf(m.Schemas) }, func(q *explainer, name string, a *Answer) { a.Config = q.explainSchema(name) }},
	{"Template", func(m *model.Model) []string { return namesOf(m.Templates) }, func(q *explainer, name string, a *Answer) { a.Template = q.explainTemplate(name) }},
	{stackKind, stackNames, func(q *explainer, name string, a *Answer) { a.Stack = q.explainStack(name) }},
	{teamKind, func(m *model.Model) []string { return namesOf(m.Stacks.Teams) }, func(q *explainer, name string, a *Answer) { a.StackObject = q.explainTeam(name) }},
	{settingsKind, func(m *model.Model) []string { return namesOf(m.Stacks.Settings) }, func(q *explainer, name string, a *Answer) { a.StackObject = q.explainSettings(name) }},
	{manifestKind, manifestNames, func(q *explainer, name string, a *Answer) { a.Manifest = q.explainManifest(name) }},
	{poolKind, poolNames, func(q *explainer, name string, a *Answer) { a.Pool = q.explainPool(name) }},
}

func workloadNames(m *model.Model) []string {
	names := list.Convert(m.Targets, func(t *model.Target) string { return t.Workload })
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// resolveQuery relies on distinct forms: kinds are not in lower case, cluster types not
// in upper case, and no name has a space or @.
func resolveQuery(m *model.Model, query string) (subject, error) {
	query = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(query), "./"), "/")
	if query == "" {
		return subject{}, &QueryError{"nothing was asked for", "name an assignment, an object or a file, as " + exampleOf(m)}
	}
	if query == output.TrackingFile {
		return subject{query, func(q *explainer, a *Answer) { a.File = q.explainTrackingFile() }}, nil
	}
	for _, sign := range []string{"@", " on "} {
		if target, clusterType, ok := strings.Cut(query, sign); ok {
			return resolveAssignment(m, strings.TrimSpace(clusterType), strings.TrimSpace(target))
		}
	}
	first, rest, slash := strings.Cut(query, "/")
	if !slash {
		return resolveName(m, query)
	}
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == first }); i >= 0 {
		return resolveKind(m, kinds[i], rest)
	}
	if first == stepKind {
		return subject{query, func(q *explainer, a *Answer) { a.Step, q.err = q.explainStep(rest) }}, nil
	}
	if first == clusterfiles.Folder && len(m.Clusters.Manifests) > 0 {
		return resolveClusterPath(m, query)
	}
	if len(m.Stacks.List) > 0 && (first == stackfiles.ObjectsFolder || first == stackfiles.ModulesFolder) {
		return resolveStackPath(m, query)
	}
	if s, err := resolveStack(m, query); s.answer != nil || err != nil {
		return s, err
	}
	if first != strings.ToLower(first) {
		names := append(list.Convert(kinds, func(k kind) string { return k.name }), stepKind)
		return subject{}, queryErrorf(problem.DidYouMean(first, names), "kind %s is not one to ask about; the kinds are %s", first, strings.Join(names, ", "))
	}
	return resolvePath(m, first, rest)
}

func exampleOf(m *model.Model) string {
	if len(m.ClusterTypes) > 0 && len(m.Targets) > 0 {
		return m.ClusterTypes[0].Name + "/" + m.Targets[0].Name
	}
	return "<cluster type>/<deployment target>"
}

func queryErrorf(hint, format string, args ...any) *QueryError {
	return &QueryError{fmt.Sprintf(format, args...), hint}
}

func (k kind) subject(name string) subject {
	return subject{k.name + "/" + name, func(q *explainer, a *Answer) { k.answer(q, name, a) }}
}

func resolveKind(m *model.Model, k kind, name string) (subject, error) {
	names := k.names(m)
	if k.name == manifestKind {
		name = findManifest(m, name)
	}
	if !slices.Contains(names, name) {
		hint := problem.DidYouMean(name, names)
		if hint == "" && k.name == "Workload" {
			hint = workloadHint(m)
		}
		return subject{}, queryErrorf(hint, "there is no %s %q in environment %s", k.name, name, m.Environment)
	}
	return k.subject(name), nil
}

// workloadHint explains that a model only has targets of its own environment.
func workloadHint(m *model.Model) string {
	return "a workload without a deployment target for environment " + m.Environment + " is not part of it"
}

func resolvePath(m *model.Model, clusterType, rest string) (subject, error) {
	target, file, deeper := strings.Cut(rest, "/")
	i, ok := model.IndexOf(m.ClusterTypes, clusterType)
	switch {
	case !ok || target != readmeName && !deeper:
		return resolveAssignment(m, clusterType, target)
	case target == readmeName && !deeper:
		return subject{path.Join(clusterType, readmeName), func(_ *explainer, a *Answer) {
			a.File = &File{Path: path.Join(clusterType, readmeName), Exists: true, Reads: []Read{{objectOf(m.ClusterTypes[i]), []string{"metadata.name"}}}}
		}}, nil
	}
	j, ok := model.IndexOf(m.Targets, target)
	if !ok {
		return resolveAssignment(m, clusterType, target)
	}
	var names []string
	if isOrdered(m, m.ClusterTypes[i]) {
		names = []string{"kustomization.yaml", output.ReconcilerName}
		if slices.Contains(names, file) {
			return subject{path.Join(clusterType, target, file), func(_ *explainer, a *Answer) { a.File = explainOrderFile(m, i, j, file) }}, nil
		}
	}
	for _, u := range slotsOf(m, m.ClusterTypes[i]) {
		if u.file == file {
			return subject{path.Join(clusterType, target, file), func(q *explainer, a *Answer) { a.File = q.explainFile(i, j, u) }}, nil
		}
		names = append(names, u.file)
	}
	return subject{}, queryErrorf(problem.DidYouMean(file, names), "no file %q is made on cluster type %s; the files of an assignment are %s",
		file, clusterType, strings.Join(names, ", "))
}

func resolveAssignment(m *model.Model, clusterType, target string) (subject, error) {
	i, isType := model.IndexOf(m.ClusterTypes, clusterType)
	j, isTarget := model.IndexOf(m.Targets, target)
	if isType && isTarget {
		return subject{clusterType + "/" + target, func(q *explainer, a *Answer) { a.Assignment = q.explainAssignment(i, j) }}, nil
	}
	var missing []string
	if !isType {
		missing = append(missing, fmt.Sprintf("cluster type %q", clusterType))
	}
	if !isTarget {
		missing = append(missing, fmt.Sprintf("deployment target %q", target))
	}
	hint := nearestAssignment(m, clusterType, target)
	if near := problem.FindNearest(clusterType+"/"+target, stackNames(m)); near != "" && !isType && !isTarget {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return subject{}, queryErrorf(hint, "there is no %s in environment %s", strings.Join(missing, " and no "), m.Environment)
}

func nearestAssignment(m *model.Model, clusterType, target string) string {
	types, targets := namesOf(m.ClusterTypes), namesOf(m.Targets)
	if slices.Contains(types, target) && slices.Contains(targets, clusterType) {
		clusterType, target = target, clusterType
	}
	for _, side := range []struct {
		name  *string
		known []string
	}{{&clusterType, types}, {&target, targets}} {
		if slices.Contains(side.known, *side.name) {
			continue
		}
		*side.name = problem.FindNearest(*side.name, side.known)
		if *side.name == "" {
			return "ask for <cluster type>/<workload>-<target>, as " + exampleOf(m)
		}
	}
	return fmt.Sprintf("did you mean %q?", clusterType+"/"+target)
}

func resolveName(m *model.Model, name string) (subject, error) {
	var found []subject
	for _, k := range kinds {
		if slices.Contains(k.names(m), name) {
			found = append(found, k.subject(name))
		}
	}
	for _, pool := range poolNames(m) {
		if path.Base(pool) == name {
			found = append(found, subject{poolKind + "/" + pool, func(q *explainer, a *Answer) { a.Pool = q.explainPool(pool) }})
		}
	}
	found = append(found, kalypsoAssignments(m, name)...)
	if len(found) > 1 { // teams often have the name of their workload
		found = slices.DeleteFunc(found, func(s subject) bool {
			return strings.HasPrefix(s.query, teamKind+"/") || strings.HasPrefix(s.query, settingsKind+"/")
		})
	}
	switch len(found) {
	case 0:
		isNamed := func(m *model.InputManifest) bool { return m.Spec.FindCluster(name) != nil }
		if slices.ContainsFunc(m.Clusters.Manifests, isNamed) {
			return subject{}, queryErrorf("fairlead cluster show "+name+" shows it", "%s is a cluster that environment %s provisions, and none of the objects to ask about", name, m.Environment)
		}
		var known []string
		for _, k := range kinds {
			known = append(known, k.names(m)...)
		}
		hint := cmp.Or(problem.DidYouMean(name, known), workloadHint(m))
		return subject{}, queryErrorf(hint, "nothing is named %q in environment %s", name, m.Environment)
	case 1:
		return found[0], nil
	}
	queries := list.Convert(found, func(s subject) string { return s.query })
	return subject{}, queryErrorf("ask for one of them as it is written here", "%d things are named %q: %s", len(found), name, strings.Join(queries, ", "))
}

// kalypsoAssignments returns all assignments with this Kalypso name, which can be split
// in several ways.
func kalypsoAssignments(m *model.Model, name string) []subject {
	var found []subject
	for _, t := range m.Targets {
		clusterType, ok := strings.CutPrefix(name, t.Workload+"-"+t.Name+"-")
		if !ok || m.ClusterType(clusterType) == nil {
			continue
		}
		if s, err := resolveAssignment(m, clusterType, t.Name); err == nil {
			found = append(found, s)
		}
	}
	return found
}
