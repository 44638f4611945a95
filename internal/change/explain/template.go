package explain

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// Template explains which cluster types use a template.
type Template struct {
	Template     Object         `json:"template" yaml:"template"`
	BuiltIn      bool           `json:"builtIn" yaml:"builtIn"`
	Type         string         `json:"type" yaml:"type"`
	Engine       string         `json:"engine" yaml:"engine"`
	Reads        []string       `json:"reads,omitempty" yaml:"reads,omitempty"` // fields of the data: ".ConfigData"
	Broken       string         `json:"broken,omitempty" yaml:"broken,omitempty"`
	ClusterTypes []TemplateUser `json:"clusterTypes,omitempty" yaml:"clusterTypes,omitempty"`
	Assignments  int            `json:"assignments" yaml:"assignments"`
}

// TemplateUser is a cluster type that names a template, and the field.
type TemplateUser struct {
	ClusterType Object `json:"clusterType" yaml:"clusterType"`
	Field       string `json:"field" yaml:"field"`
	Assignments int    `json:"assignments" yaml:"assignments"`
}

func (q *explainer) explainTemplate(name string) *Template {
	t := q.model.Template(name)
	out := &Template{Template: objectOf(t), BuiltIn: t.BuiltIn, Type: t.Type, Engine: t.Engine}
	compiled, problems := render.Compile(t)
	if len(problems) > 0 {
		out.Broken = problems[0].Summary
	}
	for _, f := range fields {
		if compiled.Reads(f.name) {
			out.Reads = append(out.Reads, "."+f.name)
		}
	}
	for i, c := range q.model.ClusterTypes {
		n, users := q.plan.Targets(i).Len(), len(out.ClusterTypes)
		for _, u := range slotsOf(q.model, c) {
			if u.template == name {
				out.ClusterTypes = append(out.ClusterTypes, TemplateUser{objectOf(c), u.field, n})
			}
		}
		if len(out.ClusterTypes) > users {
			out.Assignments += n
		}
	}
	return out
}

type templateSlot struct{ field, template, file string }

func isOrdered(m *model.Model, c *model.ClusterType) bool {
	t := m.Template(c.Reconciler)
	return t != nil && t.Ordered
}

func explainOrderFile(m *model.Model, i, j int, file string) *File {
	c, t := m.ClusterTypes[i], m.Targets[j]
	f := &File{Path: path.Join(c.Name, t.Name, file), Exists: true, Reads: []Read{{objectOf(c), []string{"spec.reconciler"}}, {objectOf(t), []string{"metadata.name"}}}}
	if file == output.ReconcilerName && len(t.DependsOn) > 0 {
		f.Reads[1].What = append(f.Reads[1].What, model.DependsOnAnnotation)
	}
	return f
}

func slotsOf(m *model.Model, c *model.ClusterType) []templateSlot {
	configFile := "platform-config.yaml"
	if t := m.Template(c.ConfigType); t != nil { // the content type decides
		configFile = t.ConfigFile()
	}
	reconcilerFile := output.ReconcilerName
	if isOrdered(m, c) {
		reconcilerFile = path.Join(output.ObjectsName, output.ReconcilerName)
	}
	return []templateSlot{
		{"spec.reconciler", c.Reconciler, reconcilerFile},
		{"spec.namespaceService", c.NamespaceService, "namespace.yaml"},
		{"spec.configType", c.ConfigType, configFile},
	}
}

// TemplateUse is the template of a file, and the cluster type's field that names it.
type TemplateUse struct {
	File     string `json:"file" yaml:"file"`
	Field    string `json:"field" yaml:"field"` // "spec.reconciler"
	Template Object `json:"template" yaml:"template"`
	BuiltIn  bool   `json:"builtIn" yaml:"builtIn"`
	Missing  bool   `json:"missing,omitempty" yaml:"missing,omitempty"`
}

// RenderedFile is a file of an assignment.
type RenderedFile struct {
	TemplateUse `yaml:",inline"`
	Exists      bool   `json:"exists" yaml:"exists"`
	WhyNot      string `json:"whyNot,omitempty" yaml:"whyNot,omitempty"`
}

func (q *explainer) templateUse(u templateSlot) TemplateUse {
	out := TemplateUse{File: u.file, Field: u.field, Template: Object{Kind: "Template", Name: u.template}, Missing: true}
	if t := q.model.Template(u.template); t != nil {
		out.Template, out.BuiltIn, out.Missing = objectOf(t), t.BuiltIn, false
	}
	return out
}
