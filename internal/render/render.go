// Package render turns templates and data into text.
//
// A [Template] is compiled once and expanded for many assignments, by the engine text
// (text/template with hermetic functions) or kustomize (a build in memory).
//
// Expansion is a function of template and data: templates reach no clock, environment,
// randomness or network. An assignment's changes to its data are visible only to its
// own later templates. Mistakes have their line in the template; a missing value is a
// mistake, not "<no value>". Output with "{{" is expanded again, as in Kalypso, but not
// without end.
//
// For speed, a template is cut into parts, and parts that read only shared data
// (values, cluster type, target) are expanded once. See [Pass].
package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

// Data is what a template sees. The fields up to ConfigData are Kalypso's.
type Data struct {
	DeploymentTargetName string
	Namespace            string
	Environment          string
	Workspace            string
	Workload             string
	Labels               map[string]string
	Manifests            map[string]string
	ClusterType          string
	ConfigData           map[string]any
	// DependsOn has the sorted names of targets on the same cluster type that this one
	// waits for.
	DependsOn []string
	// Release, Versions and Images are what releases and pins have of the workload: fields by feed, and parts by image.
	// They are hidden from functions of all data where there are none, and from hash, so that they change nothing there.
	Release  string                       `json:",omitempty" yaml:",omitempty" hash:"ignore"`
	Versions map[string]map[string]string `json:",omitempty" yaml:",omitempty" hash:"ignore"`
	Images   map[string]map[string]string `json:",omitempty" yaml:",omitempty" hash:"ignore"`

	original *Data // before a template changed them, or nil
}

// Scope identifies shared data: equal keys mean equal data within a Pass (for Values:
// always). Keys must be comparable.
type Scope struct {
	ClusterType any           // .Environment, .ClusterType
	Target      any           // .Environment, .DeploymentTargetName, .Workspace, .Workload, .Labels, .Manifests, .Release, .Versions, .Images
	Values      values.Digest // .Environment, .ConfigData
	// Team marks a target of a workload's repository: its texts are never expanded.
	Team bool
}

// Mistake is an error in a template; Line counts from 1 in the manifest.
type Mistake struct {
	Manifest, Line int
	Summary, Hint  string
	OfTeam         bool // a workload's repository caused it
}

// engine expands the manifests of one template.
type engine interface {
	// Expand appends the text to dst, or returns the mistakes. It records the shape
	// unless that is nil. A template may change the data, but not shared data.
	Expand(p *Pass, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, []Mistake)
	Reads(field string) bool
}

// Template is a compiled template. It is safe for concurrent use.
type Template struct {
	Model  *model.Template
	engine engine
}

// Options control the expansion of templates.
type Options struct {
	// PublishMissing renders null and missing values as "<no value>", as Kalypso does.
	PublishMissing bool
}

var engines = map[string]func(*model.Template, Options) (engine, []Mistake){
	"text":      newTextEngine,
	"kustomize": newKustomizeEngine,
}

// Compile prepares a template with the default options. A template with problems can
// still be expanded, to find more.
func Compile(t *model.Template) (*Template, problem.List) { return Options{}.Compile(t) }

// Compile prepares a template to be expanded with these options.
func (o Options) Compile(t *model.Template) (*Template, problem.List) {
	compiled := &Template{Model: t}
	newEngine, ok := engines[t.Engine]
	if !ok {
		return compiled, nil // the model reports it
	}
	engine, mistakes := newEngine(t, o)
	var problems problem.List
	for _, m := range mistakes {
		problems = append(problems, compiled.Problem(&m))
	}
	compiled.engine = engine
	return compiled, problems
}

// Expand appends the template's text for the data to dst and records its shape, which
// may be nil.
func (t *Template) Expand(p *Pass, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, []Mistake) {
	if t.engine == nil {
		shape.markUnknown()
		return dst, nil
	}
	return t.engine.Expand(p, dst, d, s, shape)
}

// Reads reports whether the template reads a field of Data, such as "Namespace".
func (t *Template) Reads(field string) bool { return t.engine != nil && t.engine.Reads(field) }

const templatesPage = "https://github.com/fairlead-io/fairlead/blob/main/docs/reference/templates.md"

// Problem returns a mistake as a problem at its line in the control plane.
func (t *Template) Problem(m *Mistake) problem.Problem {
	pos := t.Model.Pos
	if m.Manifest < len(t.Model.Manifests) && t.Model.Manifests[m.Manifest].Line > 0 && m.Line > 0 {
		pos.Line = t.Model.Manifests[m.Manifest].Line + m.Line - 1
	}
	hint := cmp.Or(m.Hint, templatesPage+" describes templates")
	return problem.Problem{Pos: pos, Subject: t.Model.Subject(), Summary: m.Summary, Hint: hint, OfAbsence: m.Hint == missingHint}
}

var separator = []byte("---\n")

// joinDocuments separates dst[body:] from earlier documents of the file, which begins
// at start, by "---" unless either is empty. It adds a missing newline, without which
// Kalypso makes broken YAML (Q17).
func joinDocuments(dst []byte, start, body int) []byte {
	if body == len(dst) || body == start {
		return dst
	}
	var between []byte
	if dst[body-1] != '\n' {
		between = append(between, '\n')
	}
	return slices.Insert(dst, body, append(between, separator...)...)
}

// maxOutput bounds a template's text: Kubernetes refuses objects over 1 MiB, and files
// hold few.
const maxOutput = 4 << 20

func tooLongMistake(manifest int) Mistake {
	return Mistake{Manifest: manifest, Summary: fmt.Sprintf("the template makes more than %d MiB of text", maxOutput>>20)}
}

var fieldNames = []string{
	"DeploymentTargetName", "Namespace", "Environment", "Workspace", "Workload",
	"Labels", "Manifests", "ClusterType", "ConfigData", "DependsOn", "Release", "Versions", "Images",
}
