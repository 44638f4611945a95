package argocd

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// A Component has what an Application's objects get from their component.
type Component struct {
	// Metadata of all objects. Its name is the prefix of theirs.
	Metadata kubeobject.Metadata
	Interval string
	// Suspended objects stay as they are, Protected ones survive the component, and
	// Destroyed ones are removed.
	Suspended, Protected, Destroyed bool
	// Annotations are only for Flux objects.
	Annotations map[string]string
	// Settings replace Argo CD's credentials of clusters and repositories.
	Settings model.StackApplications
}

// An Object is a Flux object and its file in the component's folder.
type Object struct {
	File  string
	Value any
	// Deployment names an object that deploys; see [IsDeployment].
	Deployment kubeobject.Reference
	// Target is unique: two objects with the same one would undo each other.
	Target string
}

// The files that deploy an Application, in the folder of their source.
const (
	ReleaseFile       = "helmrelease.yaml"
	KustomizationFile = "app-kustomization.yaml"
)

// IsDeployment reports whether a file deploys an Application instead of holding a
// source.
func IsDeployment(file string) bool {
	return path.Base(file) == ReleaseFile || path.Base(file) == KustomizationFile
}

// pruneAnnotation keeps Flux from removing an object.
const pruneAnnotation = "kustomize.toolkit.fluxcd.io/prune"

// maxName leaves room for suffixes of controllers.
const maxName = 63

// ObjectName returns the name of an Application's objects and folder. Sources after the
// first add a name.
func ObjectName(component string, names ...string) string {
	return stack.ShortenName(strings.Join(append([]string{component}, names...), "--"), maxName)
}

// Translate returns the Flux objects of an Application, sorted by file.
func Translate(a *Application, c Component) ([]Object, problem.List) {
	t := &translator{app: a, component: c}
	t.readMetadata()
	t.readDestination()
	t.readSyncPolicy()
	t.readDifferences()
	releases := map[string]bool{}
	for i, s := range t.listSources() {
		if s.Ref.Text != "" && s.Chart.Text == "" && s.Path.Text == "" { // for values files
			continue
		}
		t.addSource(i, s, releases)
	}
	t.addNamespace()
	return t.objects, t.problems
}

type translator struct {
	app       *Application
	component Component
	objects   []Object
	problems  problem.List

	kubeConfig *kubeConfig // nil for the stack's cluster
	policy     policy
	ignored    []ignoreRule
	deployed   int  // sources so far
	namespaced bool // some Kustomization uses the destination's namespace
}

func (t *translator) addf(line int, hint, format string, args ...any) {
	t.problems.Addf(t.app.positionAt(cmp.Or(line, t.app.Metadata.Name.Line)), "Application/"+t.app.Name(), hint, format, args...)
}

func (t *translator) warnf(line int, hint, format string, args ...any) {
	t.problems.Warnf(t.app.positionAt(cmp.Or(line, t.app.Metadata.Name.Line)), "Application/"+t.app.Name(), hint, format, args...)
}

// Finalizers that make deletion of an Application delete its objects.
const (
	cascade    = "resources-finalizer.argocd.argoproj.io"
	foreground = cascade + "/foreground"
	background = cascade + "/background"
)

// readMetadata reads the deletion policy and warns of metadata without effect.
func (t *translator) readMetadata() {
	m := t.app.Metadata
	line := m.Name.Line
	t.policy.deletion = "Orphan"
	for _, f := range m.Finalizers {
		switch f {
		case cascade, foreground:
			t.policy.deletion = "WaitForTermination"
		case background:
			t.policy.deletion = "Delete"
		default:
			t.warnf(line, "", "the finalizer %q has no effect", text.Shorten(f, 100))
		}
	}
	var parts []string
	if len(m.Labels) > 0 {
		parts = append(parts, "labels")
	}
	if len(m.Annotations) > 0 {
		parts = append(parts, "annotations")
	}
	if len(parts) > 0 {
		t.warnf(line, "", "the %s of the Application have no effect: there is no Application any more", text.Join(parts, " and "))
	}
	if _, wave := m.Annotations["argocd.argoproj.io/sync-wave"]; wave {
		t.warnf(line, "make components of the Applications, with dependsOn", "the sync wave of the Application has no effect: all Applications of a component are deployed at once")
	}
	for field, n := range map[string]yaml.Node{"operation": t.app.Operation, "status": t.app.Status} {
		if n.Kind != 0 && !isEmptyNode(n) {
			t.warnf(n.Line, "remove it", "%s is written by Argo CD, and has no effect", field)
		}
	}
	s := t.app.Spec
	if s.Project.Text != "" && s.Project.Text != "default" {
		t.warnf(s.Project.Line, "", "the restrictions of the AppProject %s do not apply", text.Shorten(s.Project.Text, 100))
	}
	if s.Info.Kind != 0 {
		t.warnf(s.Info.Line, "", "spec.info has no effect")
	}
	if s.Hydrator.Kind != 0 {
		t.addf(s.Hydrator.Line, "write spec.source", "spec.sourceHydrator cannot be translated")
	}
}

func isEmptyNode(n yaml.Node) bool { return len(n.Content) == 0 && n.Value == "" }

// The cluster of Argo CD in Applications.
const (
	inCluster       = "in-cluster"
	inClusterServer = "https://kubernetes.default.svc"
)

func (t *translator) readDestination() {
	d := t.app.Spec.Destination
	if ns := d.Namespace; ns.Text != "" && !kubename.IsDNSLabel(ns.Text) {
		t.addf(ns.Line, "", "spec.destination.namespace cannot be %q", text.Shorten(ns.Text, 100))
	}
	server := strings.TrimSuffix(d.Server.Text, "/")
	line := max(d.Server.Line, d.Name.Line)
	switch {
	case d.Name.Text != "" && server != "":
		t.addf(line, "remove one of them", "spec.destination has a name and a server")
		return
	case d.Name.Text == "" && server == "", d.Name.Text == inCluster, server == inClusterServer:
		return
	}
	for _, c := range t.component.Settings.Clusters {
		if d.Name.Text != "" && c.Name == d.Name.Text || server != "" && strings.TrimSuffix(c.Server, "/") == server {
			t.kubeConfig = &kubeConfig{secretKey{c.Secret, c.Key}}
			return
		}
	}
	t.addf(line, "add it to spec.applications.clusters of the StackSettings, with the Secret that holds its kubeconfig",
		"spec.destination is another cluster than the one that runs the stack: %s", text.Shorten(text.CleanLine(d.Name.Text+server), 100))
}

func (t *translator) listSources() []*source {
	s, line := t.app.Spec, t.app.Metadata.Name.Line
	switch {
	case s.Source != nil && len(s.Sources) > 0:
		t.addf(s.Source.RepoURL.Line, "remove spec.source", "the Application has a source and sources, and Argo CD takes the sources only")
		return nil
	case s.Source != nil:
		return []*source{s.Source}
	}
	var all []*source
	for i, one := range s.Sources {
		if one == nil {
			t.addf(line, "write it, or remove it", "spec.sources[%d] is null", i)
			continue
		}
		all = append(all, one)
	}
	if len(s.Sources) == 0 && s.Hydrator.Kind == 0 {
		t.addf(line, "", "the Application has no source")
	}
	return all
}

func (t *translator) addSource(i int, s *source, releases map[string]bool) {
	suffixes := []string{t.app.Name()}
	t.deployed++
	if t.deployed > 1 {
		suffix := strconv.Itoa(i + 1)
		if s.Name.Text != "" {
			suffix = s.Name.Text
		}
		if !kubename.IsDNSLabel(suffix) {
			t.addf(s.Name.Line, "", "the name of a source cannot be %q", text.Shorten(suffix, 100))
			return
		}
		suffixes = append(suffixes, suffix)
	}
	p := part{source: s, name: ObjectName(t.component.Metadata.Name, suffixes...)}
	if s.Plugin.Kind != 0 {
		t.addf(s.Plugin.Line, "render it in a job, and name the result", "a plugin of Argo CD cannot be translated")
		return
	}
	if s.Chart.Text != "" && s.Path.Text != "" {
		t.addf(s.Chart.Line, "remove one of them", "a source has a chart or a path, and one of them")
		return
	}
	forms := 0
	for _, has := range []bool{s.Helm != nil, s.Kustomize != nil, s.Directory != nil} {
		if has {
			forms++
		}
	}
	switch {
	case forms > 1 || s.Chart.Text != "" && s.Helm == nil && forms > 0:
		t.addf(s.RepoURL.Line, "keep the one that it is", "a source is one of helm, kustomize and directory")
	case s.Chart.Text != "" || s.Helm != nil:
		t.addRelease(p, releases)
	default:
		t.addKustomization(p)
	}
}

// part is a deployed source.
type part struct {
	*source
	name string // of its objects and folder
}

func addObject[S any](t *translator, p part, file, apiVersion, kind string, spec S) {
	meta := t.component.Metadata
	meta.Name, meta.Annotations = p.name, t.component.Annotations
	o := &kubeobject.Object[S]{APIVersion: apiVersion, Kind: kind, Metadata: meta, Spec: spec}
	t.objects = append(t.objects, Object{File: path.Join(p.name, file), Value: o, Deployment: kubeobject.Reference{Kind: kind, Name: p.name}})
}

func (t *translator) setTarget(what, namespace string) {
	if namespace != "" {
		what += " in the namespace " + namespace
	}
	d := t.app.Spec.Destination
	if t.kubeConfig != nil {
		what += " of the cluster " + text.CleanLine(d.Name.Text+d.Server.Text)
	}
	t.objects[len(t.objects)-1].Target = what
}

// addNamespace adds the namespace that Argo CD creates and never deletes. Flux keeps an
// existing one unchanged unless the Application has metadata for it.
func (t *translator) addNamespace() {
	name := t.app.Spec.Destination.Namespace
	meta := t.app.Spec.SyncPolicy.NamespaceMetadata
	switch {
	case !t.policy.createNamespace && meta != nil:
		t.warnf(name.Line, "", "spec.syncPolicy.managedNamespaceMetadata has no effect without the option CreateNamespace=true")
		return
	case !t.policy.createNamespace:
		return
	case name.Text == "":
		t.warnf(t.app.Metadata.Name.Line, "", "the option CreateNamespace=true has no effect without spec.destination.namespace")
		return
	case name.Text == t.component.Metadata.Namespace && meta == nil: // the stack has it
		return
	case name.Text == t.component.Metadata.Namespace:
		t.warnf(name.Line, "", "spec.syncPolicy.managedNamespaceMetadata has no effect on the namespace of the stack")
		return
	case !t.namespaced && meta == nil: // Helm creates it
		return
	case t.kubeConfig != nil:
		t.addf(name.Line, "put the Namespace into the repository of the Application", "Flux cannot create the namespace %s on another cluster", name.Text)
		return
	}
	annotations := map[string]string{pruneAnnotation: "disabled", "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}
	o := &kubeobject.Object[struct{}]{APIVersion: "v1", Kind: "Namespace", Metadata: kubeobject.Metadata{Name: name.Text, Annotations: annotations}}
	if meta != nil {
		t.checkMetadata(name.Line, "spec.syncPolicy.managedNamespaceMetadata", meta.Labels, meta.Annotations)
		annotations["kustomize.toolkit.fluxcd.io/ssa"] = "Merge"
		for key, value := range meta.Annotations {
			if strings.HasPrefix(key, "kustomize.toolkit.fluxcd.io/") {
				t.addf(name.Line, "remove it", "spec.syncPolicy.managedNamespaceMetadata cannot have the annotation %s", text.Shorten(key, 100))
				continue
			}
			annotations[key] = value
		}
		o.Metadata.Labels = meta.Labels
	}
	folder := ObjectName(t.component.Metadata.Name, t.app.Name())
	t.objects = append(t.objects, Object{File: path.Join(folder, "namespace.yaml"), Value: o})
}

func (t *translator) checkMetadata(line int, field string, labels, annotations map[string]string) {
	for key, value := range labels {
		if kubename.CheckLabelKey(key) != nil || kubename.CheckLabelValue(value) != nil {
			t.addf(line, "", "%s: a label cannot be %q: %q", field, text.Shorten(key, 100), text.Shorten(value, 100))
		}
	}
	for key := range annotations {
		if kubename.CheckLabelKey(key) != nil {
			t.addf(line, "", "%s: the key of an annotation cannot be %q", field, text.Shorten(key, 100))
		}
	}
}
