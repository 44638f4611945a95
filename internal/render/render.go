// Package render turns templates and data into text.
//
// A [Template] is compiled once and expanded for many assignments. An engine
// does the expanding: text (Go text/template with hermetic functions) or kustomize
// (the expanded texts are the files of a kustomization, built in memory).
//
// What the package keeps true:
//   - Expanding is a function of the template and the data: no clock, environment,
//     randomness or network is in reach of a template, and what one assignment does
//     to its data is not seen by another. The templates of one assignment share their
//     data: a change (set, unset, merge) is seen by those that are expanded later.
//   - A mistake is reported at its line of the template; a missing value is a
//     mistake, not the text "<no value>".
//   - Output that contains "{{" is expanded again, as Kalypso does, but a bounded
//     number of times.
//
// Speed comes from one idea: a template is cut into parts, and a part that reads
// only what many assignments share (their values, their cluster type, their
// target) is expanded once for all of them. See [Pass].
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
	// DependsOn has the names of the deployment targets on the same cluster type
	// that this one waits for, sorted.
	DependsOn []string

	original *Data // the data before a template changed them; nil if none did
}

// Scope identifies the data that assignments share: equal keys mean equal data
// within one Pass (for Values: always). The keys must be comparable.
type Scope struct {
	ClusterType any           // .Environment, .ClusterType
	Target      any           // .Environment, .DeploymentTargetName, .Workspace, .Workload, .Labels, .Manifests
	Values      values.Digest // .Environment, .ConfigData
	// Team marks a target of a workload's repository: its texts are data, and are never
	// expanded as a template.
	Team bool
}

// Mistake is an error in a template; Line counts from 1 in the manifest.
type Mistake struct {
	Manifest, Line int
	Summary, Hint  string
	OfTeam         bool // it is in what a workload's repository wrote
}

// engine expands the manifests of one template.
type engine interface {
	// Expand appends the text of the file to dst, or returns the mistakes that
	// prevent it. It records the text's shape, unless that is nil. A template may
	// change the data, but not what they share with others.
	Expand(p *Pass, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, []Mistake)
	// Reads reports whether the template reads a field of Data.
	Reads(field string) bool
}

// Template is a compiled template. It may be used concurrently.
type Template struct {
	Model  *model.Template
	engine engine
}

// Options control how templates are expanded.
type Options struct {
	// PublishMissing renders a value that is null or missing as "<no value>", as Kalypso
	// does, instead of reporting a mistake.
	PublishMissing bool
}

// engines maps the name in a template's annotation to its engine.
var engines = map[string]func(*model.Template, Options) (engine, []Mistake){
	"text":      newTextEngine,
	"kustomize": newKustomizeEngine,
}

// Compile prepares a template with the default options. The problems are those that can be
// found without data; a template that has some can still be expanded, to find more.
func Compile(t *model.Template) (*Template, problem.List) { return Options{}.Compile(t) }

// Compile prepares a template to be expanded with these options.
func (o Options) Compile(t *model.Template) (*Template, problem.List) {
	compiled := &Template{Model: t}
	newEngine, ok := engines[t.Engine]
	if !ok {
		return compiled, nil // the model has a problem about it
	}
	engine, mistakes := newEngine(t, o)
	var problems problem.List
	for _, m := range mistakes {
		problems = append(problems, compiled.Problem(&m))
	}
	compiled.engine = engine
	return compiled, problems
}

// Expand appends the template's text for the data to dst, and records its shape
// (which may be nil).
func (t *Template) Expand(p *Pass, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, []Mistake) {
	if t.engine == nil {
		shape.markUnknown()
		return dst, nil
	}
	return t.engine.Expand(p, dst, d, s, shape)
}

// Reads reports whether the template reads a field of Data, such as "Namespace".
func (t *Template) Reads(field string) bool { return t.engine != nil && t.engine.Reads(field) }

// templatesPage is where the documentation of templates is.
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

// joinDocuments separates dst[body:], the document that was appended last, from those before it
// in the file that begins at start: with a "---" line, unless one side is empty. A
// document that does not end in a newline gets one (Kalypso makes broken YAML of it, Q17).
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

// maxOutput bounds the text that one template may make: Kubernetes refuses objects
// over 1 MiB, and a file holds a few at most.
const maxOutput = 4 << 20

func tooLongMistake(manifest int) Mistake {
	return Mistake{Manifest: manifest, Summary: fmt.Sprintf("the template makes more than %d MiB of text", maxOutput>>20)}
}

// fieldNames lists the fields of Data, for hints.
var fieldNames = []string{
	"DeploymentTargetName", "Namespace", "Environment", "Workspace", "Workload",
	"Labels", "Manifests", "ClusterType", "ConfigData", "DependsOn",
}
