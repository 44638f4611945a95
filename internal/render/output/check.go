package output

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/render"
)

type assignment struct{ clusterType, target int }

// findings collects problems from all workers. A problem of many assignments is
// reported once, with the first and their number.
type findings struct {
	mu      sync.Mutex
	list    problem.List
	grouped map[problem.Problem]problemGroup
}

type problemGroup struct {
	first assignment
	count int
}

func (f *findings) add(problems ...problem.Problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, problems...)
}

func (f *findings) addTemplate(c *compiledTemplate, warn bool) {
	for _, found := range c.problems {
		found.Warning = found.Warning || warn
		f.add(found)
	}
}

func (f *findings) addForAssignment(a assignment, p problem.Problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.grouped == nil {
		f.grouped = map[problem.Problem]problemGroup{}
	}
	g := f.grouped[p]
	if g.count == 0 || cmp.Or(cmp.Compare(a.clusterType, g.first.clusterType), cmp.Compare(a.target, g.first.target)) < 0 {
		g.first = a
	}
	g.count++
	f.grouped[p] = g
}

// missingManifest matches template errors about a missing key in a target's manifests.
var missingManifest = regexp.MustCompile(`^manifests\.(\w+) is missing|^\.Manifests\.(\w+) has no value`)

func (p *pass) reportMistake(t *render.Template, m *render.Mistake, a assignment) {
	found := t.Problem(m)
	target, near := p.model.Targets[a.target], ""
	if match := missingManifest.FindStringSubmatch(m.Summary); match != nil {
		wanted := cmp.Or(match[1], match[2])
		near = problem.FindNearest(wanted, slices.Sorted(maps.Keys(target.Manifests)))
		if near != "" {
			found.Hint = fmt.Sprintf("did you mean %q? its manifests have %q", wanted, near)
		}
	}
	if t.Model.BuiltIn || near != "" || m.OfTeam {
		found.Pos, found.Subject = target.Pos, target.Subject()
		found.Summary = fmt.Sprintf("Template %q: %s", t.Model.Name, m.Summary)
	}
	p.found.addForAssignment(a, found)
}

// maxProblems bounds the problems of an environment.
const maxProblems = 2000

func (p *pass) sortedProblems() problem.List {
	p.found.mu.Lock()
	defer p.found.mu.Unlock()
	all := p.found.list
	for found, g := range p.found.grouped {
		where := fmt.Sprintf("%s on cluster type %s", p.model.Targets[g.first.target].Name, p.model.ClusterTypes[g.first.clusterType].Name)
		if g.count > 1 {
			where = fmt.Sprintf("%s and %d more", where, g.count-1)
		}
		found.Summary = fmt.Sprintf("%s [%s]", found.Summary, where)
		all = append(all, found)
	}
	return all.Sorted().Capped(maxProblems)
}

// warnUnused warns of objects without effect.
func (p *pass) warnUnused() {
	for policy, lacks := range p.plan.IdlePolicies() {
		p.found.add(idleProblem(policy, lacks, p.model))
	}
	for config := range p.values.UnreadConfigs(p.plan) {
		p.warnObject(&config.Object, "compare its labels with those of the cluster types and deployment targets",
			"no assignment reads this config")
	}
	used := map[*compiledTemplate]bool{}
	for i, t := range p.templates {
		if i == 0 || t != p.templates[i-1] {
			used[t[namespaceText]], used[t[configText]], used[t[reconcilerText]] = true, true, true
		}
	}
	for _, t := range p.model.Templates {
		if c := p.cache.templates[t]; !t.BuiltIn && (c == nil || !used[c]) {
			p.warnObject(&t.Object, "name it in a cluster type, or remove it", "no cluster type uses this template")
			p.found.addTemplate(p.compileTemplate(t), true)
		}
	}
}

func (p *pass) warnMissing(rows []*row) {
	if !p.options.Templates.PublishMissing || p.isCanceled() {
		return
	}
	for i, r := range rows {
		for k := range r.members.names {
			for which, bits := 0, r.cells.get(k).missing; bits>>which != 0; which++ {
				if bits>>which&1 != 0 {
					t := p.templates[i][which].template.Model
					p.found.addForAssignment(assignment{i, p.sets[i].order[k]}, problem.Problem{
						Pos: t.Pos, Subject: t.Subject(), Warning: true,
						Summary: fmt.Sprintf("%s has \"<no value>\" in it: a value is null or missing, or is that text", p.fileNames(i)[which]),
						Hint:    "give it a value, or write {{ … | default \"…\" }} or {{ with … }}; missing values are published because the settings, or a flag, say so",
					})
				}
			}
		}
	}
}

func (p *pass) warnObject(o *model.Object, hint, summary string) {
	p.found.add(problem.Problem{Pos: o.Pos, Subject: o.Subject(), Summary: summary, Hint: hint, Warning: true})
}

func (p *pass) validateValues(i, j int, v *values.Values) {
	t := p.model.Targets[j]
	violations, steps := p.cache.values.ValidateValues(v, t)
	p.texts.Charge(steps * stepsOfSchema)
	for _, violation := range violations {
		found := problem.Problem{Pos: violation.Schema.Pos, Subject: violation.Schema.Subject(), Summary: violation.Message}
		if violation.Broken {
			found.Hint = "write a JSON Schema of draft 4, 6 or 7, as JSON"
			p.found.add(found)
			continue
		}
		if violation.Unchecked {
			found.Summary = "the schema cannot be checked: " + found.Summary
			found.Hint = "make the schema simpler: fewer alternatives (allOf, anyOf, oneOf), references and levels"
			p.found.addForAssignment(assignment{i, j}, found)
			continue
		}
		found.Summary = "the platform values do not satisfy the schema: " + found.Summary
		found.Hint, found.OfAbsence = "fairlead explain shows where each value comes from", violation.Key == ""
		if s, ok := p.findSource(i, j, v, violation.Key); ok {
			found.Pos, found.Subject = s.Pos, s.Config.Subject()
			found.Summary = fmt.Sprintf("%s does not satisfy %s: %s", violation.Key, violation.Schema.Subject(), withoutField(violation))
			found.Hint = fmt.Sprintf("the schema is at %s; fairlead explain shows where each value comes from", violation.Schema.Pos)
		}
		p.found.addForAssignment(assignment{i, j}, found)
	}
}

type valueKey struct {
	values *values.Values
	key    string
}

// findSource returns the config of a value, once for all assignments with the same
// values.
func (p *pass) findSource(i, j int, v *values.Values, key string) (values.Source, bool) {
	if key == "" {
		return values.Source{}, false
	}
	known, ok := p.sources.Load(valueKey{v, key})
	if !ok {
		s, _ := p.values.SourceOf(i, j, key)
		known, _ = p.sources.LoadOrStore(valueKey{v, key}, s)
	}
	s := known.(values.Source)
	return s, s.Config != nil
}

func withoutField(v values.Violation) string {
	field, message, ok := strings.Cut(v.Message, ": ")
	if ok && (field == v.Key || strings.HasPrefix(message, field)) {
		return message
	}
	return v.Message
}

const stepsOfSchema = 16

func (p *pass) exhaustedProblem() problem.Problem {
	var most *compiledTemplate
	for _, ts := range p.templates {
		for _, which := range expansionOrder {
			if c := ts[which]; c != nil && (most == nil || p.texts.Steps(c.template) > p.texts.Steps(most.template)) {
				most = c
			}
		}
	}
	found := problem.Problem{Pos: problem.Pos{Layer: p.model.Environment}, Subject: "Environment/" + p.model.Environment}
	if most != nil {
		found = most.template.Problem(&render.Mistake{})
	}
	found.Summary = "rendering the environment was stopped because it takes too much work, most of it in this template"
	found.Hint = "shorten its loops, or the texts that its functions read; or simplify the environment's schemas and configs"
	return found
}

const fluxNamespace = "flux-system"

// checkName reports a target with the name of what applies the output. Its objects
// would replace that, and Flux would remove everything.
func (p *pass) checkName(i, j int) {
	t := p.model.Targets[j]
	if t.Name != fluxNamespace && t.Name != stack.FindClusterSource(p.model).Name {
		return
	}
	reconciler := p.templates[i][reconcilerText].template.Model
	makesThere := func(m model.Manifest) bool { return strings.Contains(m.Text, fluxNamespace) }
	if reconciler.Ordered || slices.ContainsFunc(reconciler.Manifests, makesThere) {
		p.found.addForAssignment(assignment{i, j}, problem.Problem{
			Pos: t.Pos, Subject: t.Subject(), Hint: "give the workload or the deployment target another name",
			Summary: fmt.Sprintf("its objects would replace the source and the Kustomization %s in the namespace %s, with which Flux applies the output", t.Name, fluxNamespace),
		})
	}
}

func (p *pass) checkNamespace(i, j int) {
	t := p.model.Targets[j]
	name := p.namespaceName(p.model.ClusterTypes[i], t)
	if len(name) <= kubename.MaxLabel {
		return
	}
	for _, c := range p.templates[i] {
		if c.template.Reads("Namespace") {
			p.found.addForAssignment(assignment{i, j}, problem.Problem{
				Pos: t.Pos, Subject: t.Subject(), Hint: "shorten the names of the environment, cluster type, workload or target",
				Summary: fmt.Sprintf("the namespace <environment>-<cluster type>-<workload>-<target> would be over %d characters long", kubename.MaxLabel),
			})
			return
		}
	}
}
