package stackfiles

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// Deleted is a stack whose file was deleted, and that is in the output until it is destroyed: a
// tombstone. Without it, its objects would be removed at once and in no order, and what they made
// would stay with nothing to manage it.
type Deleted struct {
	Team, Env string
	Namespace string
	// Kustomizations are the names of those that carry the teardown: when all of them are ready,
	// the stack is destroyed.
	Kustomizations []string
}

// Path identifies the stack, as "team/environment".
func (d Deleted) Path() string { return d.Team + "/" + d.Env }

// Folder returns the folder of the stack's objects in the output.
func (d Deleted) Folder() string { return path.Join(ObjectsFolder, d.Team, d.Env) }

// Previous is the output that clusters have, and how it came about.
type Previous struct {
	Tree tree.Tree
	// Former is what the output was in other places, if it is in this one for the first time.
	Former []tree.Tree
	// IsDestroyed reports whether the teardown of a stack, as it is in Tree, is complete, or that of the components
	// whose Kustomizations are named.
	IsDestroyed func(Deleted) bool
	// Since returns a folder of the output in each commit from that of Tree back to the given one,
	// newest first, without equal ones behind each other; false if that commit is not among them.
	Since func(commit, folder string) (versions []tree.Tree, found bool)
}

// KnownPrevious returns an output of which nothing else is known: no teardown counts as complete, and what
// it had before approves and refuses nothing.
func KnownPrevious(output tree.Tree) Previous {
	return Previous{
		Tree: output, IsDestroyed: func(Deleted) bool { return false }, Since: func(string, string) ([]tree.Tree, bool) { return nil, true },
	}
}

// FollowPrevious compares the rendered output with the previous one. It returns the output with a
// teardown of each stack that has no file any more, and these stacks, until they are destroyed. An
// approval of a plan that the previous output does not make does not count. A stack that a problem stops, here
// or before, is in the output as it was.
//
// The teardown is made from the previous output alone, and made again it is the same: what the file
// named may be deleted as well.
func FollowPrevious(m *model.Model, rendered tree.Tree, previous Previous) (tree.Tree, []Deleted, problem.List, error) {
	k := &keeper{model: m, rendered: rendered, previous: previous, found: map[string]bool{}, stopped: map[string]bool{}, held: map[string]bool{}, replaced: map[string]bool{}}
	k.findStopped()
	k.findUnread()
	rendered, err := k.refuseUnseen(rendered)
	if err != nil {
		return rendered, nil, nil, err
	}
	k.rendered = rendered
	for _, output := range append([]tree.Tree{previous.Tree}, previous.Former...) {
		if err := k.findStacks(output); err != nil {
			return rendered, nil, nil, err
		}
	}
	k.checkNew()
	k.checkApprovals("")
	if k.problems.StopsEnvironment() {
		return rendered, k.deleted, k.problems.Sorted(), nil
	}
	all := rendered
	if len(k.deleted) > 0 || len(k.stopped) > 0 || len(k.held) > 0 || len(k.replaced) > 0 {
		all, err = k.union()
	}
	if err == nil {
		all, err = k.withholdDestruction(all)
	}
	if err == nil && all.Sub(ObjectsFolder).IsEmpty() && HasStacks(previous.Tree) {
		all, err = addNone(m, all)
	}
	return all, k.deleted, k.problems.Sorted(), err
}

// keeper is one call of FollowPrevious.
type keeper struct {
	model    *model.Model
	rendered tree.Tree
	previous Previous
	found    map[string]bool // stacks of the previous output, by their paths
	stopped  map[string]bool // stacks that a problem stops
	held     map[string]bool // stacks that have no file, and are not destroyed
	replaced map[string]bool // files of the rendered output that others take the place of
	kept     tree.Builder
	deleted  []Deleted
	problems problem.List
}

// findStacks looks at each stack of a previous output that was not found before.
func (k *keeper) findStacks(output tree.Tree) error {
	objects := output.Sub(ObjectsFolder)
	if _, ours := objects.Lookup(kubeobject.KustomizationFile); !ours {
		return nil
	}
	for _, team := range objects.Entries() {
		for _, env := range team.Tree().Entries() {
			name := path.Join(team.Name, env.Name)
			if k.found[name] {
				continue
			}
			s, err := readRenderedStack(output, team.Name, env.Name)
			k.found[name] = k.found[name] || err != nil || s != nil
			if err != nil {
				err = k.keepUnreadable(output, Deleted{Team: team.Name, Env: env.Name}, err)
			} else if s != nil {
				err = k.compareStack(s)
			}
			if err != nil {
				return fmt.Errorf("read the stack %s of the previous output: %w", name, err)
			}
		}
	}
	return nil
}

func (k *keeper) compareStack(s *renderedStack) error {
	if k.stopped[s.Path()] {
		return k.keepStopped(s)
	}
	if _, again := k.rendered.Lookup(path.Join(s.Folder(), namespaceFile)); again {
		return k.compareRendered(s)
	}
	subject := s.subject()
	if renamed := k.findRenamed(s); renamed != nil {
		k.stopStack(renamed, renamed.Pos.Line, "restore them, or give the new stack a metadata.name and a namespace of its own, and the old one is destroyed",
			"spec.teamName and spec.envName of a stack cannot change: it was %s, and its state is there", s.Path())
		return k.keepStack(s, map[string]any{})
	}
	if other := k.findUnplaced(s.Team); other != "" && s.namespace.Metadata.Annotations[teardownAnnotation] == "" {
		k.problems.Warnf(problem.Pos{Layer: k.model.Environment}, "Environment/"+subject, "fix the problems of "+other+": it may be this stack under another name",
			"the stack %s has no file, and stays as it is while the stack %s is stopped", s.Path(), other)
		k.held[s.Path()] = true
		return k.keepStack(s, map[string]any{})
	}
	if held, err := k.holdUnread(s); held || err != nil {
		return err
	}
	if k.isAbandoned(s.Path()) {
		return k.abandonStack(s)
	}
	if team := stack.FindProtectingTeam(k.model, s.Team); team != nil {
		return k.holdStack(s, team)
	}
	if why := findUse(k, s); why != "" {
		return k.holdDeleted(s, "restore the file, and delete it when nothing uses the stack any more", "the file of the stack "+s.Path()+" was deleted, and the stack stays: "+why)
	}
	if !k.model.Stacks.HasTeam(s.Team) && slices.ContainsFunc(s.components, (*renderedComponent).isProtectedByTeam) {
		return k.holdDeleted(s, "restore the Team, without teardownProtection if the stack is to be destroyed",
			"the file of the stack "+s.Path()+" was deleted, and with it the Team "+s.Team+", whose teardownProtection keeps it")
	}
	s.endTeamProtection()
	resuming, err := k.resumeRemoved(s, func(c *renderedComponent) bool { return c.terraform == nil && !c.isUninstalled() && !c.isProtected() })
	if resuming || err != nil {
		return err
	}
	return k.tryDestroy(s)
}

// compareRendered reports what is gone of a stack that is rendered again, and keeps it as it was where
// that must not go so.
func (k *keeper) compareRendered(s *renderedStack) error {
	if k.checkMoved(s) || k.checkTypes(s) || k.checkReturned(s) || k.checkUnpinned(s) {
		return k.keepStack(s, map[string]any{})
	}
	resuming, err := k.resumeRemoved(s, func(c *renderedComponent) bool {
		_, ok := k.rendered.Lookup(path.Join(s.Folder(), c.name, objectsName, WaitFile))
		return ok && !c.isUninstalled()
	})
	if resuming || err != nil {
		k.stopped[s.Path()] = k.stopped[s.Path()] || resuming
		return err
	}
	k.checkOrphans(s)
	if err := k.checkClusters(s); err != nil {
		return err
	}
	return k.keepOrphans(s)
}

// findRenamed returns the stack of the model that was this one: it has its name, or its objects
// would have the namespace of these.
func (k *keeper) findRenamed(s *renderedStack) *model.Stack {
	for _, now := range k.model.Stacks.List {
		folder := path.Join(ObjectsFolder, now.TeamName.Text, now.EnvName.Text)
		if _, before := k.previous.Tree.Lookup(path.Join(folder, namespaceFile)); before { // it was there beside it
			continue
		}
		rendered, err := readRenderedStack(k.rendered, now.TeamName.Text, now.EnvName.Text)
		if err == nil && rendered != nil && (now.Name == s.name || rendered.Namespace == s.Namespace) {
			return now
		}
	}
	return nil
}

func (k *keeper) checkOrphans(s *renderedStack) {
	for _, c := range s.components {
		_, again := k.rendered.Lookup(path.Join(s.Folder(), c.name, componentFile))
		if again || !c.stays() {
			continue
		}
		pos, subject := k.locate(s)
		k.problems.Warnf(pos, subject, "to have it destroyed, restore the component with destroy: true, and remove it after that",
			"the component %s is removed and was not destroyed: what it made stays, and nothing manages it any more", c.name)
	}
}

// checkClusters warns of charts that are installed on another cluster than before: Flux leaves them on that.
func (k *keeper) checkClusters(s *renderedStack) error {
	for _, c := range s.components {
		now, err := decodeObject[deploymentSpec](k.rendered.Sub(path.Join(s.Folder(), c.name, objectsName)), releaseFile)
		if err != nil {
			return err
		}
		if c.release == nil || now == nil || c.release.Spec.KubeConfig == now.Spec.KubeConfig {
			continue
		}
		pos, subject := k.locate(s)
		k.problems.Warnf(pos, subject, "to have it uninstalled there, set destroy: true first, in a change of its own",
			"the chart of the component %s is installed on another cluster: where it is now, it stays, and nothing manages it any more", c.name)
	}
	return nil
}

// checkNew reports components of new stacks that are to be destroyed, as CloudKnit does. Without a
// previous output, nothing says that they are new.
func (k *keeper) checkNew() {
	for _, s := range k.model.Stacks.List {
		if k.found[s.TeamName.Text+"/"+s.EnvName.Text] || k.previous.Tree.IsEmpty() || s.Teardown {
			continue
		}
		for _, c := range s.Components {
			if c != nil && c.IsToBeDestroyed() {
				k.stopStack(s, c.Name.Line, "remove the component", "component %s is to be destroyed, and the stack is new", c.Name.Text)
			}
		}
	}
}

func (k *keeper) locate(s *renderedStack) (problem.Pos, string) {
	for _, now := range k.model.Stacks.List {
		if now.TeamName.Text == s.Team && now.EnvName.Text == s.Env {
			return now.Pos, now.Subject()
		}
	}
	return problem.Pos{Layer: k.model.Environment}, "Environment/" + s.name
}

func (k *keeper) addTeardown(s *renderedStack) error {
	s.reverseOrder()
	s.namespace.Metadata.Annotations[teardownAnnotation] = "true"
	delete(s.namespace.Metadata.Annotations, deletedAnnotation)
	setKept(&s.namespace.Metadata, s.needsRelease() || len(s.protectedNames())+len(s.listOrphans()) > 0)
	if err := k.addObject(path.Join(s.Folder(), namespaceFile), s.namespace); err != nil {
		return err
	}
	resources := []string{namespaceFile}
	for _, c := range s.components {
		if err := k.addComponent(s, c); err != nil {
			return err
		}
		resources = append(resources, path.Join(c.name, componentFile))
	}
	return k.addObject(path.Join(s.Folder(), kubeobject.KustomizationFile), kubeobject.NewKustomization(resources))
}

func (k *keeper) addComponent(s *renderedStack, c *renderedComponent) error {
	if c.terraform == nil {
		return k.addChart(s, c)
	}
	t := c.terraform
	protected, auto := c.isProtected(), tfobject.AutoApproved == cmp.Or(t.Spec.ApprovePlan, t.Metadata.Annotations[withheldAnnotation])
	t.Spec.Destroy, t.Spec.ApprovePlan, t.Spec.Suspend = !protected, "", false
	folder := path.Join(s.Folder(), c.name)
	c.kustomization.Spec.Path = stack.OutputFolder(k.model) + folder + "/objects" // it may have moved
	c.kustomization.Spec.Wait, c.kustomization.Spec.Timeout = true, tfobject.RunTimeout
	c.kustomization.Spec.HealthChecks = []kubeobject.HealthExpr{tfobject.Health(c.source.Spec.Ref.Commit)}
	delete(t.Metadata.Annotations, InputsAnnotation)
	delete(t.Metadata.Annotations, withheldAnnotation)
	delete(t.Metadata.Annotations, refusedAnnotation)
	reads := t.Metadata.Annotations[readsAnnotation]
	delete(t.Metadata.Annotations, readsAnnotation)
	delete(t.Metadata.Annotations, tfplan.DigestAnnotation)
	setKept(&t.Metadata, false) // no plan is made from it
	setKept(&c.source.Metadata, true)
	inputs, err := tfobject.DigestInputs(c.source.Spec.Ref.Commit, t)
	if err != nil {
		return err
	}
	t.Metadata.Annotations[InputsAnnotation] = inputs
	if reads != "" {
		t.Metadata.Annotations[readsAnnotation] = reads
	}
	setKept(&t.Metadata, protected)
	plan := tfobject.Plan{
		Deleted: true, Component: c.name, Auto: auto, Versioned: t.Metadata.Annotations[tfobject.UnversionedAnnotation] == "",
		ID: tfplan.PlanID(c.source.Spec.Ref.Branch, c.source.Spec.Ref.Commit), Inputs: inputs,
	}
	plan.SetApproval(t, k.findApproval(s.Path(), c.name), &k.problems)
	plan.WarnOfDestruction(problem.Pos{Layer: k.model.Environment}, "Environment/"+s.subject(), t, &k.problems)
	objects, err := EncodeFiles(map[string]any{terraformFile: t, sourceFile: c.source})
	if err == nil {
		err = k.addSealed(folder, sealedComponent{c.kustomization, objects})
	}
	if err != nil {
		return err
	}
	modules := strings.TrimPrefix(t.Spec.Path, "./")
	for file, e := range s.output.Sub(modules).Walk() {
		if err := k.kept.AddEntry(path.Join(modules, file), e); err != nil {
			return err
		}
	}
	return nil
}

// addChart adds the files of a chart of a deleted stack: it stays if it is protected.
func (k *keeper) addChart(s *renderedStack, c *renderedComponent) error {
	folder := path.Join(s.Folder(), c.name)
	delete(c.kustomization.Metadata.Annotations, resumedAnnotation)
	setKept(&c.kustomization.Metadata, false)
	c.kustomization.Spec.Path, c.kustomization.Spec.Wait, c.kustomization.Spec.Suspend = stack.OutputFolder(k.model)+path.Join(folder, objectsName), true, false
	c.kustomization.Spec.Timeout = tfobject.RunTimeout
	objects := c.objects
	var err error
	switch {
	case c.isProtected():
	case c.isUninstalled():
		objects, err = c.updateWait(k.model)
	default:
		objects, err = EncodeFiles(uninstallObjects(c.kustomization.Metadata, waitImage(k.model), c.deployments()))
	}
	if err != nil {
		return err
	}
	return k.addSealed(folder, sealedComponent{c.kustomization, objects})
}

func (k *keeper) addObject(file string, o any) error {
	text, err := yamldoc.Encode(o)
	if err != nil {
		return err
	}
	return k.kept.Add(file, text)
}

func (k *keeper) union() (tree.Tree, error) {
	kept := k.kept.Tree()
	rendered, err := k.withoutKept()
	if err != nil {
		return tree.Tree{}, err
	}
	objects := slices.DeleteFunc(slices.Clone(rendered.Sub(ObjectsFolder).Entries()), func(e tree.Entry) bool { return e.Name == kubeobject.KustomizationFile })
	stacks, err := tree.Union(tree.FromEntries(objects), kept.Sub(ObjectsFolder))
	if err != nil {
		return tree.Tree{}, err
	}
	var resources []string
	for _, team := range stacks.Entries() {
		for _, env := range team.Tree().Entries() {
			resources = append(resources, path.Join(team.Name, env.Name))
		}
	}
	entries := slices.DeleteFunc(slices.Clone(rendered.Entries()), func(e tree.Entry) bool { return e.Name == ObjectsFolder || e.Name == ModulesFolder })
	if len(resources) == 0 { // all stacks are stopped and new
		return tree.FromEntries(entries), nil
	}
	slices.SortFunc(resources, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	text, err := yamldoc.Encode(kubeobject.NewKustomization(resources))
	if err != nil {
		return tree.Tree{}, err
	}
	modules, err := tree.Union(rendered.Sub(ModulesFolder), kept.Sub(ModulesFolder))
	if err != nil {
		return tree.Tree{}, err
	}
	entries = append(entries, tree.Dir(ObjectsFolder, tree.FromEntries(append(slices.Clone(stacks.Entries()), tree.File(kubeobject.KustomizationFile, text)))))
	if !modules.IsEmpty() { // charts have none
		entries = append(entries, tree.Dir(ModulesFolder, modules))
	}
	return tree.FromEntries(entries), nil
}
