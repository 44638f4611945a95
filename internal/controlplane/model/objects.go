package model

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// metadataSpec is the part of an object's metadata that people write, and what
// tools leave behind when an object is exported from a cluster.
type metadataSpec struct {
	Name              string                 `yaml:"name" required:"true"`
	Namespace         string                 `yaml:"namespace"`
	Labels            map[string]locatedText `yaml:"labels"`
	Annotations       annotations            `yaml:"annotations"`
	CreationTimestamp *yaml.Node             `yaml:"creationTimestamp"`
	DeletionTimestamp *yaml.Node             `yaml:"deletionTimestamp"`
	Finalizers        *yaml.Node             `yaml:"finalizers"`
	GenerateName      *yaml.Node             `yaml:"generateName"`
	Generation        *yaml.Node             `yaml:"generation"`
	ManagedFields     *yaml.Node             `yaml:"managedFields"`
	OwnerReferences   *yaml.Node             `yaml:"ownerReferences"`
	ResourceVersion   *yaml.Node             `yaml:"resourceVersion"`
	SelfLink          *yaml.Node             `yaml:"selfLink"`
	UID               *yaml.Node             `yaml:"uid"`
}

// body is an object without its spec.
type body[S any] struct {
	APIVersion string       `yaml:"apiVersion"`
	Kind       string       `yaml:"kind"`
	Metadata   metadataSpec `yaml:"metadata" required:"true"`
	Spec       S            `yaml:"spec" required:"true"`
	Status     *yaml.Node   `yaml:"status"`
}

func readObject[S any](r *reader, n *yaml.Node, kind string, d *decoder) (Object, S, metadataSpec) {
	var b body[S]
	d.subject = kind + "/" + nameOf(n)
	d.decodeValue(n, reflect.ValueOf(&b).Elem(), "")
	return r.readMetadata(n, kind, b.Metadata, d), b.Spec, b.Metadata
}

func withSpec(n *yaml.Node) *yaml.Node {
	if _, spec := yamldoc.LookUpPair(n, "spec"); spec != nil {
		return n
	}
	c := *n
	c.Content = slices.Clone(n.Content)
	yamldoc.AddPair(&c, "spec", &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line})
	return &c
}

// nameOf finds metadata.name before the object is decoded, for problems.
func nameOf(n *yaml.Node) string {
	_, metadata := yamldoc.LookUpPair(n, "metadata")
	if _, name := yamldoc.LookUpPair(metadata, "name"); name != nil && !yamldoc.IsNull(name) {
		return name.Value
	}
	return ""
}

func (r *reader) readMetadata(n *yaml.Node, kind string, meta metadataSpec, d *decoder) Object {
	o := Object{Kind: kind, Name: meta.Name, Pos: d.positionOf(n), Labels: map[string]string{}, Annotations: map[string]string{}}
	_, metadata := yamldoc.LookUpPair(n, "metadata")
	key, name := yamldoc.LookUpPair(metadata, "name")
	switch err := kubename.Check(meta.Name); {
	case meta.Name != "" && err != nil:
		d.addProblem(n, "", "%v", err)
	case name != nil && name.Kind == yaml.ScalarNode && (name.Value == "" || yamldoc.IsNull(name)): // others were reported
		d.addProblem(key, "", "metadata.name is required")
	}
	for _, key := range sortedKeys(meta.Labels) {
		label := meta.Labels[key]
		o.Labels[key] = label.Text
		if slices.Contains(annotationsOf(kind, d.foreign), key) {
			d.problems.Warnf(r.positionAt(label.Line), d.subject, "move it to metadata.annotations", "the label %s has no effect: it is an annotation", key)
		}
		if isTemplate(label.Text) && r.layer.Kind != Workloads {
			continue
		}
		for _, err := range []error{kubename.CheckLabelKey(key), kubename.CheckLabelValue(label.Text)} {
			if err != nil {
				d.problems.Addf(r.positionAt(label.Line), d.subject, labelHint, "%v", err)
			}
		}
	}
	for _, key := range sortedKeys(meta.Annotations) {
		o.Annotations[key] = meta.Annotations[key].Text
		r.checkAnnotation(kind, key, meta.Annotations[key], d)
	}
	if owner := r.layer.ownerName(r.env); owner != "" {
		o.Labels[ownerNameLabel], o.Labels[ownerNamespaceLabel] = owner, "flux-system"
	}
	return o
}

var ownAnnotations = []string{DependsOnAnnotation, EngineAnnotation, ExpansionsAnnotation, OrderedAnnotation}

func annotationsOf(kind string, foreign bool) []string {
	switch kind {
	case "GitOpsRepo":
		return []string{AcknowledgeAnnotation}
	case "ClusterType":
		return []string{ClustersAnnotation, PerClusterAnnotation, TaintsAnnotation}
	case "SchedulingPolicy":
		return []string{ChooseAnnotation}
	case "ClusterList":
		return []string{ImportAnnotation}
	case "ConfigMap":
		return []string{MeasuredAnnotation, MeasuredByAnnotation}
	case "Workload", "DeploymentTarget":
		return append(slices.Clip(ownAnnotations), RequestsAnnotation)
	case claudie.InputManifestKind:
		return ManifestAnnotations
	case claudie.TemplateGitReferenceKind, "ClusterBinding", "ClusterModules":
		return []string{BlueprintAnnotation}
	case "Environment":
		if foreign {
			return []string{BlueprintAnnotation}
		}
	}
	return ownAnnotations
}

func (r *reader) checkAnnotation(kind, key string, value locatedText, d *decoder) {
	if !strings.HasPrefix(key, "fairlead.io/") {
		return
	}
	known := annotationsOf(kind, d.foreign)
	if slices.Contains(known, key) || slices.Contains(ownAnnotations, key) {
		return
	}
	d.problems.Warnf(r.positionAt(value.Line), d.subject, problem.DidYouMean(key, known), "the annotation %s has no effect here", key)
}

// countClusters returns how many clusters a cluster type says that there are of it; -1 if it does not
// say.
func (r *reader) countClusters(o Object, n *yaml.Node, d *decoder) int {
	text, written := o.Annotations[ClustersAnnotation]
	if !written {
		return -1
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 0 || count > maxClusters {
		d.addProblem(n, fmt.Sprintf("write a number from 0 to %d, in quotes, or remove the annotation", maxClusters), "the annotation %s cannot be %q", ClustersAnnotation, text)
		return -1
	}
	return count
}

// maxClusters is how many clusters there may be of a type.
const maxClusters = 100_000

func (r *reader) readKalypso(n *yaml.Node, kind string, d *decoder) {
	c := r.out
	switch kind {
	case "Environment":
		o, s, _ := readObject[environmentSpec](r, n, kind, d)
		r.checkEnvironment(o)
		r.checkRepo(o, s.ControlPlane)
		c.environments = append(c.environments, &Environment{o, s.ControlPlane.repoRef()})
	case "BaseRepo":
		o, s, _ := readObject[baseRepoSpec](r, n, kind, d)
		r.checkRepo(o, s.repoSpec)
		ref := s.repoRef()
		ref.Commit = string(s.Commit)
		c.baseRepos = append(c.baseRepos, &BaseRepo{o, ref})
	case "GitOpsRepo":
		o, s, _ := readObject[repoSpec](r, n, kind, d)
		r.checkRepo(o, s)
		c.gitOpsRepos = append(c.gitOpsRepos, &GitOpsRepo{o, s.repoRef()})
	case "ClusterType":
		o, s, meta := readObject[clusterTypeSpec](r, n, kind, d)
		r.checkLength(o, "the name of a cluster type becomes a label", o.Name)
		t := &ClusterType{Object: o, Reconciler: s.Reconciler, NamespaceService: s.NamespaceService, ConfigType: s.ConfigType, Clusters: r.countClusters(o, n, d), Taints: r.readTaints(o, meta.Annotations)}
		perCluster := o.Annotations[PerClusterAnnotation]
		t.isPerCluster = perCluster == "true"
		if perCluster != "" && perCluster != "true" && perCluster != "false" {
			d.addProblem(n, "write true or false, in quotes", "the annotation %s cannot be %q", PerClusterAnnotation, perCluster)
		}
		c.clusterTypes = append(c.clusterTypes, t)
	case "Template":
		o, s, meta := readObject[templateSpec](r, n, kind, d)
		c.templates = append(c.templates, r.newTemplate(o, s, meta))
	case "SchedulingPolicy":
		o, s, meta := readObject[schedulingPolicySpec](r, n, kind, d)
		r.checkLength(o, "the name of a policy becomes a label", o.Name)
		types, targets := d.readSelector(n, s.ClusterTypeSelector.LabelSelector), d.readSelector(n, s.DeploymentTargetSelector.LabelSelector)
		c.policies = append(c.policies, &Policy{o, types, targets, s.DeploymentTargetSelector.Workspace, r.readChoice(o, meta.Annotations, d.problems)})
	case "WorkloadRegistration":
		o, s, _ := readObject[workloadRegistrationSpec](r, n, kind, d)
		if err := kubename.CheckLabelValue(s.Workspace); err != nil {
			d.addProblem(n, "", "spec.workspace is used as a label: %v", err)
		}
		r.checkRepo(o, s.Workload)
		c.registrations = append(c.registrations, &Registration{o, s.Workload.repoRef(), s.Workspace})
	case "ConfigSchema":
		o, s, _ := readObject[configSchemaSpec](r, n, kind, d)
		c.schemas = append(c.schemas, &Schema{o, s.Schema})
	case "Workload":
		o, s, meta := readObject[workloadSpec](r, withSpec(n), kind, d) // without a spec it has no targets
		c.workloads = append(c.workloads, r.newWorkload(o, s, meta))
	case "DeploymentTarget":
		o, s, meta := readObject[deploymentTargetSpec](r, n, kind, d)
		c.targets = append(c.targets, r.newWrittenTarget(o, s, meta))
	}
}

// checkLength reports a name that Kalypso, and so its users' templates, turn into
// a label value.
func (r *reader) checkLength(o Object, why, name string) {
	if len(name) > kubename.MaxLabel {
		r.out.problems.Addf(o.Pos, o.Subject(), "", "%s: %q is %d characters long, and %d is the limit", why, name, len(name), kubename.MaxLabel)
	}
}

func (d *decoder) readSelector(n *yaml.Node, spec selectorSpec) Selector {
	if key, _ := yamldoc.LookUpPair(n, "spec"); key != nil {
		n = key
	}
	s, errs := spec.parseSelector()
	for _, err := range errs {
		d.addProblem(n, fmt.Sprintf("the operators are %q, %q, %q, %q", In, NotIn, Exists, DoesNotExist), "%v", err)
	}
	return s
}

// maxExpansions is how often output that contains "{{" is expanded again at most.
const maxExpansions = 8

func (r *reader) newTemplate(o Object, s templateSpec, meta metadataSpec) *Template {
	t := &Template{
		Object: o, Type: s.Type, ContentType: s.ContentType,
		Engine: "text", Expansions: maxExpansions, BuiltIn: r.layer.Kind == BuiltIn,
	}
	switch s.Type {
	case "reconciler", "namespace", "config", "":
	default:
		r.out.problems.Addf(o.Pos, o.Subject(), problem.DidYouMean(s.Type, []string{"reconciler", "namespace", "config"}),
			"spec.type is %q; write reconciler, namespace or config", s.Type)
	}
	for _, m := range s.Manifests {
		t.Manifests = append(t.Manifests, Manifest(m))
	}
	if t.ContentType == "tfvars" && !t.callsTfvars() {
		r.out.problems.Warnf(o.Pos, o.Subject(), "a template that calls toTfvars makes platform-config.tfvars",
			"spec.contentType tfvars has no effect: as in Kalypso, the file is %s", t.ConfigFile())
	}
	if engine, ok := meta.Annotations[EngineAnnotation]; ok {
		t.Engine = engine.Text
		if engine.Text != "text" && engine.Text != "kustomize" {
			r.out.problems.Addf(r.positionAt(engine.Line), o.Subject(), problem.DidYouMean(engine.Text, []string{"text", "kustomize"}),
				"there is no engine %q; the engines are text and kustomize", engine.Text)
		}
	}
	if passes, ok := meta.Annotations[ExpansionsAnnotation]; ok {
		n, err := strconv.Atoi(passes.Text)
		if err != nil || n < 1 || n > maxExpansions {
			r.out.problems.Addf(r.positionAt(passes.Line), o.Subject(), "\"1\" expands the template and leaves its output alone",
				"%s is %q; write a number from 1 to %d", ExpansionsAnnotation, passes.Text, maxExpansions)
			n = maxExpansions
		}
		t.Expansions = n
	}
	if ordered, ok := meta.Annotations[OrderedAnnotation]; ok {
		t.Ordered = ordered.Text == "true"
		if !t.Ordered && ordered.Text != "false" {
			r.out.problems.Addf(r.positionAt(ordered.Line), o.Subject(), "", "%s is %q; write \"true\", or remove it", OrderedAnnotation, ordered.Text)
		}
	}
	return t
}

// appConfigPrefix marks the ConfigMaps that the Azure App Configuration provider
// writes.
const appConfigPrefix = "azure-app-config"

// readConfigMap reads a ConfigMap if it holds platform values, and counts it if not.
func (r *reader) readConfigMap(n *yaml.Node, d *decoder) {
	var b struct {
		APIVersion string       `yaml:"apiVersion"`
		Kind       string       `yaml:"kind"`
		Metadata   metadataSpec `yaml:"metadata" required:"true"`
		Immutable  *yaml.Node   `yaml:"immutable"`
		configMapBody
	}
	d.subject = "ConfigMap/" + nameOf(n)
	d.decodeValue(n, reflect.ValueOf(&b).Elem(), "")
	o := r.readMetadata(n, "ConfigMap", b.Metadata, d)
	platform, app := o.Labels[platformConfigLabel] == "true", strings.HasPrefix(o.Name, appConfigPrefix)
	if isMeasures(o) && r.layer.Kind != Workloads {
		r.out.measures = append(r.out.measures, r.readMeasures(o, b.Data))
		if !platform && !app {
			return
		}
	}
	if !platform && !app {
		r.out.countIgnored("v1 ConfigMap", 1)
		return
	}
	if r.layer.Kind == Workloads {
		r.ignoreObject(header{apiVersion: "v1", kind: "ConfigMap"}, d, n,
			"is ignored: the repository of a workload may contain Workloads and DeploymentTargets only")
		return
	}
	config := &Config{Object: o, Platform: platform, App: app}
	size := 0
	for key, value := range b.Data {
		size += len(key) + len(value.Text)
	}
	if len(b.Data) > maxValues || size > maxValueBytes {
		r.out.problems.Addf(o.Pos, o.Subject(), "split it into several", "the config has %d keys and %s of text, and %d keys and 1 MiB are the limit", len(b.Data), text.Count(size, "byte"), maxValues)
		b.Data = nil
	}
	for _, key := range sortedKeys(b.Data) {
		if !kubename.IsDataKey(key) {
			r.out.problems.Addf(r.positionAt(b.Data[key].Line), o.Subject(), "",
				"%q cannot be a key of a ConfigMap: at most 253 letters, digits, '-', '_' and '.', without '..' at the beginning", text.Shorten(key, 300))
		}
		config.Values = append(config.Values, Value{Key: key, Text: b.Data[key].Text, Pos: r.positionAt(b.Data[key].Line)})
	}
	r.out.configs = append(r.out.configs, config)
}

// workload is a Workload with the parts from which its targets are made.
type workload struct {
	Object
	registration string // "" if it did not come through one
	targets      []targetSpec
	schemas      []locatedText
	dependsOn    []Dependency
	requests     requests
	pos          func(line int) problem.Pos

	mu   sync.Mutex
	last *workloadTargets // the targets that were made last
}

func (r *reader) newWorkload(o Object, s workloadSpec, meta metadataSpec) *workload {
	w := &workload{Object: o, targets: s.DeploymentTargets, schemas: s.ConfigSchemas, pos: r.positionAt}
	for i, t := range s.DeploymentTargets {
		if t.Name.Text == "" && t.Name.Line > 0 { // one that is missing is reported as such
			r.out.problems.Addf(r.positionAt(t.Name.Line), o.Subject(), "give it a name", "spec.deploymentTargets[%d].name is empty", i)
		}
	}
	if r.layer.Kind == Workloads {
		w.registration = r.layer.Name
	}
	w.dependsOn = dependenciesOf(meta.Annotations, r.positionAt)
	w.requests = readRequests(meta.Annotations, o.Subject(), r.positionAt, &r.out.problems)
	w.checkSizes(&r.out.problems)
	return w
}

const (
	// maxValues bounds the keys of a config, and maxValueBytes its text: an API server takes no more in a ConfigMap.
	maxValues, maxValueBytes = 10_000, 1 << 20
	// maxTargets bounds the deployment targets of a workload, in all environments together.
	maxTargets = 2_000
	// maxDependencies bounds the dependencies of a workload, and those of a target.
	maxDependencies = 100
	// maxSchemas bounds the schemas of a workload, and those of a target.
	maxSchemas = 50
)

func (w *workload) checkSizes(problems *problem.List) {
	if n := len(w.targets); n > maxTargets {
		problems.Addf(w.Pos, w.Subject(), "split it into several workloads", "the workload has %d deployment targets, and %d is the limit", n, maxTargets)
		w.targets = w.targets[:maxTargets]
	}
	checkSizes(&w.Object, &w.dependsOn, &w.schemas, problems)
}

// checkSizes reports and removes dependencies and schemas of which an object has too many.
func checkSizes[T any](o *Object, dependsOn *[]Dependency, schemas *[]T, problems *problem.List) {
	if n := len(*dependsOn); n > maxDependencies {
		problems.Addf((*dependsOn)[0].Pos, o.Subject(), "depend on workloads in place of their targets", "the annotation %s has %d names, and %d is the limit", DependsOnAnnotation, n, maxDependencies)
		*dependsOn = (*dependsOn)[:maxDependencies]
	}
	if n := len(*schemas); n > maxSchemas {
		problems.Addf(o.Pos, o.Subject(), "write several schemas as one, with allOf", "there are %d configSchemas, and %d is the limit", n, maxSchemas)
		*schemas = (*schemas)[:maxSchemas]
	}
}

// newWrittenTarget returns a DeploymentTarget that people wrote, rather than one that a Workload
// asks for. Its workload and workspace are its labels, as Kalypso has them.
func (r *reader) newWrittenTarget(o Object, s deploymentTargetSpec, meta metadataSpec) *Target {
	t := &Target{
		Object: o, Environment: s.Environment, Manifests: s.Manifests,
		Workload: o.Labels[workloadLabel], Workspace: o.Labels[workspaceLabel],
		DependsOn: dependenciesOf(meta.Annotations, r.positionAt), Team: r.layer.Kind == Workloads,
	}
	t.Labels = maps.Clone(s.Labels)
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	maps.Copy(t.Labels, o.Labels)
	t.Schemas = ownSchemas(t.Object, r.positionAt, s.ConfigSchemas)
	t.Requests = readRequests(meta.Annotations, t.Subject(), r.positionAt, &r.out.problems).ofTarget(t.Name)
	checkSizes(&t.Object, &t.DependsOn, &t.Schemas, &r.out.problems)
	return t
}

func dependenciesOf(annotations map[string]locatedText, at func(int) problem.Pos) []Dependency {
	a := annotations[DependsOnAnnotation]
	var out []Dependency
	for _, name := range strings.FieldsFunc(a.Text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
		out = append(out, Dependency{Name: name, Pos: at(a.Line)})
	}
	return out
}

func ownSchemas(owner Object, at func(int) problem.Pos, texts []locatedText) []Schema {
	var out []Schema
	for _, t := range texts {
		s := Schema{Object: owner, Text: t.Text}
		s.Pos = at(t.Line)
		out = append(out, s)
	}
	return out
}
