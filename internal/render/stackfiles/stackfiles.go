// Package stackfiles renders the stacks of an environment: the objects of Flux and tofu-controller
// that a cluster runs them with, and the root modules that these run.
//
// The objects of a stack are in environments/<team>/<environment>: a kustomization.yaml for Flux to
// begin with, and a folder for each component, in which flux-kustomization.yaml is the Flux
// Kustomization of the folder objects beside it. The Kustomizations carry the order, because no
// other kind can: the dependsOn of Terraform and HelmRelease knows its own kind only, and that of
// Terraform cannot be reversed for a teardown.
//
// The root module of a component is in CloudKnit's folder below team. It is there to be reviewed
// beside the objects; clusters read it at a commit of its own, in the branch of root modules.
//
// What the package keeps true:
//   - The dependsOn of the Kustomizations is the graph of the components, reversed while the stack
//     is torn down where what is needed is destroyed, and nothing else.
//   - A Kustomization applies only the objects that it was rendered with.
//   - A GitRepository is pinned to a commit whose id is a function of the component's root module
//     alone: a change of one component moves its own pin, and an approval moves none.
//   - A plan is approved only for the inputs that it was made from, and once. An approval for other
//     inputs does not count, nor when they come back.
//   - A stack that a problem stops keeps the files that it has in the output, byte for byte, and stops
//     no other one. What it no longer destroys is suspended.
package stackfiles

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
)

// The folders of stacks in the output. No cluster type of an environment with stacks can have these
// names.
const (
	ObjectsFolder = "environments"
	ModulesFolder = "team"
)

// NamespaceFile is the file of a stack with its namespace, and what it is as a whole.
const NamespaceFile = "namespace.yaml"

// TeamSuffix and EnvSuffix end the names of folders of root modules, which begin with the team and
// the environment of the stack.
const (
	TeamSuffix = rootmodule.TeamSuffix
	EnvSuffix  = rootmodule.EnvSuffix
)

// The names of files: what Flux begins with in a folder, the namespace of a stack, and the Flux
// Kustomization of a component.
const (
	namespaceFile = NamespaceFile
	componentFile = "flux-kustomization.yaml"
)

// objectsName is the folder of a component with the objects that its Kustomization applies.
const objectsName = "objects"

// FindObjects returns the objects of a component of a stack in an output; an empty tree if it has none.
func FindObjects(output tree.Tree, stack, component string) tree.Tree {
	return output.Sub(path.Join(ObjectsFolder, stack, component, objectsName))
}

// Render returns the files of the stacks of a model, apart from those that a problem stops: none if
// one stops the environment. [FollowPrevious] keeps what the output has of a stack that is stopped.
func Render(m *model.Model) (tree.Tree, problem.List) { return RenderCached(m, nil, nil) }

// RenderCached is [Render] with what the last rendering has left in the cache. It returns the same. Of two stacks
// with one state, neither is rendered, or the one alone that is named for it among kept.
func RenderCached(m *model.Model, cache *Cache, kept []stack.State) (tree.Tree, problem.List) {
	if len(m.Stacks.List) == 0 {
		return tree.Tree{}, checkWithoutStacks(m)
	}
	settings, problems := stack.ResolveSettings(m)
	stacks, more := stack.Resolve(m)
	r := &renderer{model: m, settings: settings, problems: append(problems, more...), used: map[cacheKey]renderedFiles{}, states: map[string]*stack.Component{}, kept: kept}
	if cache != nil {
		r.cached = cache.components
	}
	r.checkFolders()
	r.checkTeams(stacks)
	r.checkAbandoned(stacks)
	r.matchApprovals(stacks)
	r.checkRequests(stacks)
	rendered := make([]tree.Tree, len(stacks))
	for i, s := range stacks {
		r.path, r.builder, r.unapprovable = s.Path(), tree.Builder{}, nil
		r.renderStack(s)
		r.warnOfApproval(s)
		rendered[i] = r.builder.Tree()
	}
	r.combineStacks(stacks, rendered)
	if cache != nil {
		cache.components, cache.rendered = r.used, cache.rendered+r.count
	}
	if r.problems.StopsEnvironment() {
		return tree.Tree{}, r.problems
	}
	return r.builder.Tree(), r.problems
}

func (r *renderer) combineStacks(stacks []*stack.Stack, rendered []tree.Tree) {
	r.path, r.builder = "", tree.Builder{}
	var all []string
	for i, s := range stacks {
		if s.Stopped || r.problems.StopsStack(s.Path()) || r.model.Stacks.Stopped.StopsStack(s.Path()) {
			continue
		}
		for file, e := range rendered[i].Walk() {
			r.reportUnrendered(file, r.builder.AddEntry(file, e))
		}
		all = append(all, path.Join(s.Team, s.Env))
	}
	if len(all) > 0 {
		r.addKustomization(ObjectsFolder, all)
	}
}

// checkAbandoned reports stacks that are abandoned and have a file: they would not be destroyed
// when it is deleted.
func (r *renderer) checkAbandoned(stacks []*stack.Stack) {
	for _, settings := range r.model.Stacks.Settings {
		for _, a := range settings.Abandoned {
			if i := slices.IndexFunc(stacks, func(s *stack.Stack) bool { return s.Path() == a.Text }); i >= 0 {
				pos := problem.Pos{Layer: settings.Pos.Layer, File: settings.Pos.File, Line: a.Line}
				r.stopStack(a.Text, pos, settings.Subject(), "remove it from spec.abandoned", "the stack %s is not deleted: its file is %s", a.Text, stacks[i].Pos)
			}
		}
	}
}

// checkTeams stops the stacks whose Team cannot be read: it may protect them.
func (r *renderer) checkTeams(stacks []*stack.Stack) {
	for _, s := range stacks {
		if u := r.model.Stacks.FindUnreadTeam(s.Team); u != nil {
			r.stopStack(s.Path(), s.PositionAt(s.TeamName.Line), s.Subject(), "mend the Team", "the Team %s has a mistake, at %s: it may protect this stack", s.Team, u.Pos)
		}
	}
}

// checkWithoutStacks warns of approvals: without a stack, they can only be of one whose file was
// deleted, which [FollowPrevious] knows.
func checkWithoutStacks(m *model.Model) problem.List {
	var problems problem.List
	for _, a := range m.Stacks.Approvals {
		if !isOfClusters(m, a.Stack) {
			warnOfDeleted(&problems, a)
		}
	}
	return problems
}

// renderer collects the files of the stacks of one model.
type renderer struct {
	model     *model.Model
	settings  *stack.Settings
	builder   tree.Builder
	problems  problem.List
	approvals map[*stack.Component]*model.PlanApproval
	path      string // of the stack that is rendered; "" between stacks
	stopped   bool   // a problem was found before
	// cached are the components of the last rendering, used those of this one, and count is how many
	// of them were not cached.
	cached, used map[cacheKey]renderedFiles
	count        int
	// states are the components by their states, and state is that of the one that is rendered.
	// The stacks that are kept go on, whatever others have their states.
	states map[string]*stack.Component
	state  string
	kept   []stack.State
	// deployers are the components by what their Applications deploy, and targets is what those of the one
	// deploy that is rendered.
	deployers map[string]*stack.Component
	targets   []string
	// unversioned reports that no plan of the component that is rendered can be approved, and unapprovable are such
	// components of the stack.
	unversioned  bool
	unapprovable []*stack.Component
}

func (r *renderer) checkFolders() {
	for _, c := range r.model.ClusterTypes {
		if c.Name == ObjectsFolder || c.Name == ModulesFolder {
			r.problems.Addf(c.Pos, c.Subject(), "give the cluster type another name", "the folder %s is that of the environment's stacks", c.Name)
		}
	}
}

func (r *renderer) renderStack(s *stack.Stack) {
	folder := path.Join(ObjectsFolder, s.Team, s.Env)
	resources := []string{namespaceFile}
	r.addObject(path.Join(folder, namespaceFile), &kubeobject.Object[struct{}]{
		APIVersion: "v1", Kind: "Namespace",
		Metadata: kubeobject.Metadata{Name: s.Namespace, Labels: stackLabels(s), Annotations: stackAnnotations(s)},
	})
	for _, c := range s.Components {
		resources = append(resources, path.Join(c.Name, componentFile))
		r.addComponent(path.Join(folder, c.Name), c)
	}
	r.addKustomization(folder, resources)
}

// warnOfApproval warns, once for a stack that no problem stops, of components that stay as they are because no plan of
// them can be approved.
func (r *renderer) warnOfApproval(s *stack.Stack) {
	names := list.Convert(r.unapprovable, func(c *stack.Component) string { return c.Name })
	if len(names) == 0 || s.Stopped || r.problems.StopsStack(s.Path()) || r.model.Stacks.Stopped.StopsStack(s.Path()) {
		return
	}
	pos := s.PositionAt(r.unapprovable[0].StackComponent.Name.Line)
	if len(names) == 1 {
		r.problems.Warnf(pos, s.Subject(), tfobject.VersionHint, "no plan of the component %s can be approved: a module of it has no version", names[0])
		return
	}
	r.problems.Warnf(pos, s.Subject(), tfobject.VersionHint, "no plan of the components %s can be approved: a module of each has no version", text.Join(names, " and "))
}

func (r *renderer) renderComponent(folder string, c *stack.Component) {
	objects := path.Join(folder, objectsName)
	var health []kubeobject.HealthExpr
	switch c.Type {
	case stack.Helm:
		r.addHelm(objects, c)
	case stack.ArgoCD:
		r.addApplications(objects, c)
	default:
		health = append(health, tfobject.Health(r.addTerraform(objects, c)))
	}
	if c.Skipped { // it may never become ready
		health = nil
	}
	s := sealedComponent{r.newKustomization(c, objects, health), r.builder.Tree().Sub(objects)}
	seal, err := s.seal()
	if err == nil {
		err = r.builder.Add(path.Join(folder, seal), []byte(sealText))
	}
	r.reportUnrendered(folder, err)
	r.addObject(path.Join(folder, componentFile), s.kustomization)
}

func (r *renderer) addObject(file string, o any) {
	text, err := yamldoc.Encode(o)
	if err == nil {
		err = r.builder.Add(file, text)
	}
	r.reportUnrendered(file, err)
}

// reportUnrendered reports a file that cannot be made. That comes of a name that cannot be one: if a
// problem was found, it says so better.
func (r *renderer) reportUnrendered(file string, err error) {
	if err != nil && !r.isStopped() {
		r.problems = append(r.problems, problem.Problem{
			Subject: "Environment/" + r.model.Environment, Summary: fmt.Sprintf("%s cannot be rendered: %v", file, err), Stack: r.path,
		})
	}
}

func (r *renderer) isStopped() bool { return r.stopped || r.problems.StopsStack(r.path) }

// addKustomization adds the file that lists what Flux applies in a folder. Without it, Flux would
// apply all files below the folder, and in no order.
func (r *renderer) addKustomization(folder string, resources []string) {
	r.addObject(path.Join(folder, kubeobject.KustomizationFile), kubeobject.NewKustomization(resources))
}

// The labels of the objects of stacks. They hold the names as they are written.
const (
	labelPrefix = model.OwnGroup + "/"
	tagPrefix   = "tags." + model.OwnGroup + "/"
)

func stackLabels(s *stack.Stack) map[string]string {
	labels := map[string]string{labelPrefix + "team": s.Team, labelPrefix + "stack": s.Env}
	if s.Company != "" && manifestLabel(s.Company) {
		labels[labelPrefix+"company"] = s.Company
	}
	return labels
}

func componentMetadata(c *stack.Component) kubeobject.Metadata {
	labels := stackLabels(c.Stack)
	labels[labelPrefix+"component"] = c.Name
	for name, value := range c.Tags {
		labels[tagPrefix+name] = value
	}
	return kubeobject.Metadata{Name: c.ObjectName, Namespace: c.Stack.Namespace, Labels: labels}
}

// The annotations of the namespace of a stack, by which the next rendering knows what it was.
const (
	nameAnnotation     = labelPrefix + "environment" // the name of the object in the file
	teardownAnnotation = labelPrefix + "teardown"    // the stack is torn down, and its order reversed
)

func stackAnnotations(s *stack.Stack) map[string]string {
	annotations := map[string]string{nameAnnotation: s.Name, pruneAnnotation: "disabled"} // see needsRelease
	if s.Description != "" {
		annotations[labelPrefix+"description"] = s.Description
	}
	if s.Teardown {
		annotations[teardownAnnotation] = "true"
	}
	if s.Switch != "" {
		annotations[model.BlueprintAnnotation], annotations[model.ActiveAnnotation] = s.Switch, strconv.FormatBool(s.Active)
	}
	return annotations
}

// retryInterval is how soon a component that failed, is not ready yet, or waits for approval, is looked at again.
const retryInterval = "1m"

func (r *renderer) newKustomization(c *stack.Component, objects string, health []kubeobject.HealthExpr) *kubeobject.Object[kustomizationSpec] {
	var after []kubeobject.Reference
	for _, d := range c.After() {
		after = append(after, kubeobject.Reference{Name: d.ObjectName})
	}
	meta := componentMetadata(c)
	if c.Type == stack.ArgoCD {
		meta.Annotations = map[string]string{typeAnnotation: c.Type}
	}
	return &kubeobject.Object[kustomizationSpec]{
		APIVersion: kubeobject.FluxKustomization, Kind: "Kustomization", Metadata: meta,
		Spec: kustomizationSpec{
			DependsOn: after, Interval: r.interval(), RetryInterval: retryInterval, Timeout: tfobject.RunTimeout,
			Path: r.settings.Folder + objects, Prune: true, Wait: !c.Skipped, HealthChecks: health,
			SourceRef: kubeobject.Reference{Kind: "GitRepository", Name: r.settings.Source.Name, Namespace: r.settings.Source.Namespace},
		},
	}
}

func (r *renderer) interval() string { return text.FormatDuration(r.settings.Interval) }
