// Package argocd translates Applications of Argo CD into objects of Flux: a chart
// becomes a HelmRelease, a folder of manifests a Kustomization, each with its source.
//
// Nothing of an Application is dropped silently: differences of Flux are warnings, and
// what Flux cannot do is a problem at its field. Names of objects depend on component
// and Application only, and are unique, since component names have single hyphens and a
// double one separates them. Releases keep their name in Argo CD, so Helm takes over
// existing objects.
package argocd

import (
	"fmt"
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

const (
	apiGroup   = "argoproj.io"
	apiVersion = apiGroup + "/v1alpha1"
)

const maxApplications = 200

// A File holds Applications.
type File struct {
	Layer, Name string
	Data        []byte
}

// An Application is a parsed Application with its position.
type Application struct {
	application
	layer, file string
}

// Name returns the name of the Application.
func (a *Application) Name() string { return a.Metadata.Name.Text }

// Position returns the position of the Application.
func (a *Application) Position() problem.Pos { return a.positionAt(a.Metadata.Name.Line) }

func (a *Application) positionAt(line int) problem.Pos {
	return problem.Pos{Layer: a.layer, File: a.file, Line: line}
}

// IsManifest reports whether CloudKnit reads Applications from a file.
func IsManifest(file string) bool {
	return path.Ext(file) == ".yaml" || path.Ext(file) == ".yml"
}

// Read returns the Applications in files. Other objects are problems.
func Read(files []File) ([]*Application, problem.List) {
	r := reader{lines: map[string]problem.Pos{}}
	for _, f := range files {
		r.readFile(f)
	}
	return r.all, r.problems
}

type reader struct {
	all      []*Application
	lines    map[string]problem.Pos // by name
	problems problem.List
}

func (r *reader) readFile(f File) {
	for _, finding := range manifest.Check(f.Data) {
		r.problems.Addf(problem.Pos{Layer: f.Layer, File: f.Name, Line: finding.Line}, finding.Object, finding.Hint, "%s", finding.Summary)
	}
	if r.problems.Stops() {
		return
	}
	objects, err := manifest.Decode(f.Data)
	if err != nil { // already checked
		r.problems.Addf(problem.Pos{Layer: f.Layer, File: f.Name, Line: 1}, "", "", "%v", err)
	}
	for _, o := range objects {
		r.readObject(f, o)
	}
}

func (r *reader) readObject(f File, o manifest.Object) {
	pos := problem.Pos{Layer: f.Layer, File: f.Name, Line: o.Line}
	subject := strings.TrimSuffix(o.Kind+"/"+o.Name, "/")
	group, _, _ := strings.Cut(o.APIVersion, "/")
	switch {
	case o.Kind != "Application" || group != apiGroup:
		r.problems.Addf(pos, subject, "move it out of module.path, and deploy it as a workload", "only Applications of Argo CD are translated, and this is %s", describeKind(o))
		return
	case o.APIVersion != apiVersion:
		r.problems.Addf(pos, subject, "write apiVersion: "+apiVersion, "the version of an Application cannot be %q", o.APIVersion)
		return
	case len(r.all) == maxApplications:
		r.problems.Addf(pos, subject, "make several components of them", "a component has at most %d Applications", maxApplications)
		return
	case len(r.all) > maxApplications:
		return
	}
	a := &Application{layer: f.Layer, file: f.Name}
	problems := model.DecodeStrictly(model.ExpandNode(o.Node), problem.Pos{Layer: f.Layer, File: f.Name}, subject, &a.application)
	r.problems = append(r.problems, problems...)
	if problems.Stops() {
		return
	}
	name := a.Metadata.Name
	if err := kubename.Check(name.Text); err != nil {
		r.problems.Addf(a.positionAt(name.Line), subject, "", "metadata.name: %v", err)
		return
	}
	if first, twice := r.lines[name.Text]; twice {
		r.problems.Addf(a.positionAt(name.Line), subject, "give one of them another name", "the component has another Application of this name, at %s", first)
		return
	}
	r.lines[name.Text] = a.positionAt(name.Line)
	if line := findSecret(o.Node); line > 0 {
		r.problems.Addf(a.positionAt(line), subject, "keep it in a Secret, and change it: it is in the history of the repository", "the Application holds a secret in clear")
	}
	r.all = append(r.all, a)
}

func describeKind(o manifest.Object) string {
	if o.Kind == "" {
		return "no object of Kubernetes"
	}
	return fmt.Sprintf("of kind %s, apiVersion %q", text.Shorten(o.Kind, 100), text.Shorten(o.APIVersion, 100))
}

func findSecret(n *yaml.Node) int {
	if n.Kind == yaml.ScalarNode && stack.HasSecret(n.Value) {
		return n.Line
	}
	for _, inner := range n.Content {
		if line := findSecret(inner); line > 0 {
			return line
		}
	}
	return 0
}
