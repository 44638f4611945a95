package explain

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

const readmeName = "README.md"

// File explains what a file of the output is made of.
type File struct {
	Path   string `json:"path" yaml:"path"`
	Exists bool   `json:"exists" yaml:"exists"`
	WhyNot string `json:"whyNot,omitempty" yaml:"whyNot,omitempty"`
	// Stopped reports that a problem stops the file's stack, so that the output keeps
	// the old file. WhyNot has the problem.
	Stopped bool `json:"stopped,omitempty" yaml:"stopped,omitempty"`
	// Rendered is nil for files without a template.
	Rendered *RenderedFile `json:"made,omitempty" yaml:"made,omitempty"`
	Policies []Verdict     `json:"policies,omitempty" yaml:"policies,omitempty"`
	Reads    []Read        `json:"reads,omitempty" yaml:"reads,omitempty"`
}

// Read is an object that a file is made from, with its fields or keys in the file.
type Read struct {
	Object Object   `json:"object" yaml:"object"`
	What   []string `json:"what,omitempty" yaml:"what,omitempty"`
}

func (q *explainer) explainTrackingFile() *File {
	f := &File{Path: output.TrackingFile}
	i := slices.IndexFunc(q.model.BaseRepos, func(b *model.BaseRepo) bool { return b.Name == "main" })
	if i < 0 {
		f.WhyNot = "there is no BaseRepo named main"
		return f
	}
	b := q.model.BaseRepos[i]
	f.Reads, f.Exists = []Read{{objectOf(b), []string{"spec.commit"}}}, b.Commit != ""
	if f.Exists {
		f.Reads[0].What[0] += " = " + b.Commit
	} else {
		f.WhyNot = "BaseRepo/main has no spec.commit"
	}
	return f
}

func (q *explainer) explainFile(i, j int, u templateSlot) *File {
	a := q.assignmentAt(i, j)
	made := q.renderFile(i, j, u)
	f := &File{Path: path.Join(a.ClusterType.Name, a.Target.Name, u.file), Exists: made.Exists, WhyNot: made.WhyNot, Rendered: &made, Policies: q.policyVerdicts(a)}
	if t := q.model.Template(u.template); t != nil {
		f.Reads = q.readObjects(i, j, u, t)
	}
	return f
}

func (q *explainer) renderFile(i, j int, u templateSlot) RenderedFile {
	m := RenderedFile{TemplateUse: q.templateUse(u)}
	switch {
	case m.Missing:
		m.WhyNot = "there is no template " + u.template
		return m
	case !q.plan.Targets(i).Has(j):
		m.WhyNot = "no policy puts the target on this cluster type"
		return m
	}
	t, problems := q.options.Compile(q.model.Template(u.template))
	if len(problems) > 0 {
		m.WhyNot = "the template is broken: " + problems[0].Summary
		return m
	}
	d, v := q.templateData(i, j)
	scope := render.Scope{Values: v.Digest}
	q.expandEarlier(i, u, &d, scope)
	text, mistakes := t.Expand(&render.Pass{}, nil, &d, scope, nil)
	switch {
	case mistakes != nil:
		m.WhyNot = "the template fails: " + mistakes[0].Summary
	case len(text) == 0 && u.field == "spec.configType":
		m.WhyNot = "the template makes no text of these values"
	default:
		m.Exists = true
	}
	return m
}

func (q *explainer) expandEarlier(i int, u templateSlot, d *render.Data, scope render.Scope) {
	for _, earlier := range slotsOf(q.model, q.model.ClusterTypes[i]) {
		if earlier == u {
			return
		}
		if t := q.model.Template(earlier.template); t != nil {
			compiled, _ := q.options.Compile(t)
			compiled.Expand(&render.Pass{}, nil, d, scope, nil)
		}
	}
}

func (q *explainer) templateData(i, j int) (render.Data, *values.Values) {
	a, v := q.assignmentAt(i, j), q.valueResolver().ValuesOf(i, j)
	t := a.Target
	return render.Data{
		DeploymentTargetName: t.Name, Namespace: q.namespaceName(a), Environment: q.model.Environment,
		Workspace: t.Workspace, Workload: t.Workload, Labels: t.Labels, Manifests: t.Manifests,
		ClusterType: a.ClusterType.TypeName(), ConfigData: v.Data, DependsOn: objectNames(q.waitedTargets(i, j)),
	}.WithVersions(t.Pinned), v
}

func (q *explainer) waitedTargets(i, j int) []Object {
	var out []Object
	for _, d := range q.resolveDependencies(i, j) {
		out = append(out, d.Targets...)
	}
	slices.SortFunc(out, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(out)
}

type field struct {
	name string
	from fieldSource
}

type fieldSource int

const (
	fromClusterType fieldSource = 1 << iota
	fromTarget
	fromRegistration
	fromConfigs
	fromDependencies
)

var fields = []field{
	{"DeploymentTargetName", fromTarget},
	{"Namespace", fromClusterType | fromTarget},
	{"Environment", 0},
	{"Workspace", fromTarget | fromRegistration},
	{"Workload", fromTarget},
	{"Labels", fromTarget | fromRegistration},
	{"Manifests", fromTarget},
	{"ClusterType", fromClusterType},
	{"ConfigData", fromConfigs},
	{"DependsOn", fromTarget | fromDependencies},
	{"Release", fromTarget},
	{"Versions", fromTarget},
	{"Images", fromTarget},
}

func (q *explainer) readObjects(i, j int, u templateSlot, t *model.Template) []Read {
	a := q.assignmentAt(i, j)
	compiled, _ := render.Compile(t)
	all := t.Expansions > 1 && q.readsTemplates(i, j, compiled)
	of := func(from fieldSource) (names []string) {
		for _, f := range fields {
			if f.from&from != 0 && (all || compiled.Reads(f.name)) {
				names = append(names, "."+f.name)
			}
		}
		return names
	}
	reads := []Read{
		{objectOf(a.ClusterType), append([]string{u.field}, of(fromClusterType)...)},
		{objectOf(a.Target), append([]string{"name"}, of(fromTarget)...)},
	}
	if r := q.registrationOf(a.Target); r != nil && of(fromRegistration) != nil {
		reads = append(reads, Read{objectOf(r), []string{"spec.workspace"}})
	}
	if of(fromDependencies) != nil {
		for _, o := range q.waitedTargets(i, j) {
			reads = append(reads, Read{o, []string{"name"}})
		}
	}
	if of(fromConfigs) != nil {
		reads = append(reads, q.configReads(i, j)...)
	}
	return reads
}

// readsTemplates reports whether the read texts contain templates, which may read
// anything.
func (q *explainer) readsTemplates(i, j int, t *render.Template) bool {
	d, _ := q.templateData(i, j)
	for _, text := range d.Manifests {
		if t.Reads("Manifests") && strings.Contains(text, "{{") {
			return true
		}
	}
	return t.Reads("ConfigData") && slices.ContainsFunc(q.explainValues(i, j), func(v Value) bool {
		return strings.Contains(asJSON(v.Value), "{{")
	})
}

func (q *explainer) registrationOf(t *model.Target) *model.Registration {
	i, ok := model.IndexOf(q.model.Registrations, t.Pos.Layer)
	if !ok || t.Workspace == "" || q.model.Registrations[i].Workspace != t.Workspace {
		return nil
	}
	return q.model.Registrations[i]
}

func (q *explainer) configReads(i, j int) []Read {
	keys := map[string][]string{}
	for _, v := range q.explainValues(i, j) {
		for _, s := range v.By {
			if of := keys[s.Config.Name]; !slices.Contains(of, v.Key) {
				keys[s.Config.Name] = append(of, v.Key)
			}
		}
	}
	var out []Read
	for _, app := range []bool{false, true} {
		for _, c := range q.model.Configs {
			if c.App == app && keys[c.Name] != nil {
				out = append(out, Read{objectOf(c), keys[c.Name]})
			}
		}
	}
	return out
}
