package stackfiles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// Summary is what an output does with one stack.
type Summary struct {
	Stack     string `json:"stack"` // "team/environment"
	Namespace string `json:"namespace"`
	Teardown  bool   `json:"teardown"`
	// Blueprint is the one that it takes, if that names the stack that is active, as Active says of this one.
	Blueprint  string             `json:"blueprint,omitempty"`
	Active     bool               `json:"active,omitempty"`
	Deleted    bool               `json:"-"`          // its file was deleted, and its charts are resumed to be uninstalled
	Components []ComponentSummary `json:"components"` // in an order in which they can be made
}

// ComponentSummary is what an output does with one component.
type ComponentSummary struct {
	Name      string   `json:"name"`
	Object    string   `json:"object"` // the name of its objects
	Type      string   `json:"type"`
	After     []string `json:"after"` // the components that must be ready before it
	Action    Action   `json:"action"`
	Protected bool     `json:"protected,omitempty"`
	// Approval is "auto", the plan that is approved, or "" for none yet.
	Approval string `json:"approval,omitempty"`
	// Withheld reports that its plan is approved, and what needs the component has to be destroyed before that counts.
	Withheld bool `json:"-"`
	// Plan is the id of the plan that it makes, and Inputs the digest of what that is made from.
	Plan   string `json:"plan,omitempty"`
	Inputs string `json:"inputs,omitempty"`
	// Compared reports that tofu-controller has plans compared with what was approved before it applies
	// them, and Digest is that of the approved plan.
	Compared bool   `json:"compared,omitempty"`
	Digest   string `json:"digest,omitempty"`
	// Module is where clusters read its root module; nil for a chart.
	Module *ModuleSource `json:"module,omitempty"`
	// Unversioned reports that its plans cannot be approved, because its module has no version.
	Unversioned bool `json:"unversioned,omitempty"`
	// StateID identifies where its state is; "" if that is not known, or is on the cluster itself.
	StateID string `json:"-"`
	// Stays reports that what it made stays, with nothing to manage it, when the component is removed from
	// the stack now: Terraform destroys nothing then, while Flux uninstalls charts.
	Stays bool `json:"-"`
	// Resumed reports that it is resumed to be uninstalled after that.
	Resumed bool `json:"-"`
	// State tells where the state of Terraform is.
	State string `json:"-"`
}

// IsPlannedAt reports whether the plan that the component makes is one of a commit of its root module.
func (c ComponentSummary) IsPlannedAt(commit string) bool {
	return strings.HasPrefix(commit, c.Plan[strings.LastIndex(c.Plan, "-")+1:]) // the plan has its first digits
}

// FlatName returns the name of a stack, or of a component as "team/environment/component", as one part of a
// path: so it is in the names of objects, files and branches. No other stack or component has it: the parts
// of a name have single hyphens only, and if one has some, two are between the parts.
func FlatName(name string) string {
	between := "-"
	if strings.Contains(name, "-") {
		between = "--"
	}
	return strings.ToLower(strings.ReplaceAll(name, "/", between))
}

// ModuleSource is a folder of a commit.
type ModuleSource struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	Path   string `json:"path"`
}

// Action is what is done with a component.
type Action string

// The actions.
const (
	Apply   Action = "apply"
	Destroy Action = "destroy"
	Suspend Action = "suspend"
)

// Summarize returns the stacks of an output, sorted by team and environment.
func Summarize(output tree.Tree) ([]Summary, error) {
	var all []Summary
	objects := output.Sub(ObjectsFolder)
	if _, ours := objects.Lookup(kubeobject.KustomizationFile); !ours {
		return nil, nil
	}
	for _, team := range objects.Entries() {
		for _, env := range team.Tree().Entries() {
			s, err := readRenderedStack(output, team.Name, env.Name)
			if err != nil {
				return nil, fmt.Errorf("read the stack %s/%s: %w", team.Name, env.Name, err)
			}
			if s != nil {
				all = append(all, s.summarize())
			}
		}
	}
	slices.SortFunc(all, func(a, b Summary) int {
		return slices.Compare(strings.Split(a.Stack, "/"), strings.Split(b.Stack, "/"))
	})
	return all, nil
}

// FindComponent returns the component of that name.
func (s Summary) FindComponent(name string) (ComponentSummary, bool) {
	i := slices.IndexFunc(s.Components, func(c ComponentSummary) bool { return c.Name == name })
	if i < 0 {
		return ComponentSummary{}, false
	}
	return s.Components[i], true
}

func (s *renderedStack) summarize() Summary {
	names := map[string]string{} // of the components, by those of their objects
	for _, c := range s.components {
		names[c.kustomization.Metadata.Name] = c.name
	}
	all := make([]ComponentSummary, 0, len(s.components))
	for _, c := range s.components {
		one := c.summarize()
		for _, d := range c.kustomization.Spec.DependsOn {
			one.After = append(one.After, names[d.Name])
		}
		slices.Sort(one.After)
		all = append(all, one)
	}
	notes := s.namespace.Metadata.Annotations
	return Summary{
		Stack: s.Path(), Namespace: s.Namespace, Teardown: notes[teardownAnnotation] != "", Deleted: notes[deletedAnnotation] != "",
		Blueprint: notes[model.BlueprintAnnotation], Active: notes[model.ActiveAnnotation] == "true", Components: sortByOrder(all),
	}
}

func (c *renderedComponent) summarize() ComponentSummary {
	one := ComponentSummary{Name: c.name, Object: c.kustomization.Metadata.Name, Type: c.typeName(), After: []string{}, Action: Apply, Stays: c.stays(), Resumed: c.resumed}
	suspended := c.kustomization.Spec.Suspend || slices.ContainsFunc(c.listDeployments(), func(o kubeobject.Object[deploymentSpec]) bool { return o.Spec.Suspend })
	if t := c.terraform; t != nil {
		one = SummarizeTerraform(c.name, t, c.source)
		one.Object, one.Stays, suspended = c.kustomization.Metadata.Name, c.stays(), t.Spec.Suspend
	}
	if c.isUninstalled() {
		one.Action = Destroy
	}
	if c.terraform == nil {
		one.Protected = c.isProtected()
	}
	if suspended {
		one.Action = Suspend
	}
	return one
}

// SummarizeTerraform returns what a Terraform object does, with the source of its root module, which names a
// commit.
func SummarizeTerraform(name string, t *kubeobject.Object[tfobject.Spec], source *kubeobject.Object[tfobject.GitRepositorySpec]) ComponentSummary {
	one := ComponentSummary{
		Name: name, Object: t.Metadata.Name, Type: "terraform", After: []string{}, Action: Apply, Approval: t.Spec.ApprovePlan, Inputs: t.Metadata.Annotations[InputsAnnotation],
		Protected: isProtected(t.Metadata), Unversioned: t.Metadata.Annotations[tfobject.UnversionedAnnotation] != "",
		Withheld: t.Metadata.Annotations[withheldAnnotation] != "", Compared: len(t.Spec.Webhooks) > 0, Digest: t.Metadata.Annotations[tfplan.DigestAnnotation],
	}
	if ref := source.Spec.Ref; ref != nil && len(ref.Commit) >= 10 {
		one.Plan = tfplan.PlanID(ref.Branch, ref.Commit)
		one.Module = &ModuleSource{source.Spec.URL, ref.Branch, ref.Commit, strings.TrimPrefix(t.Spec.Path, "./")}
	}
	if t.Spec.Destroy {
		one.Action = Destroy
	}
	if b := t.Spec.BackendConfig; b != nil {
		one.State = t.Spec.Workspace + "\x00" + b.CustomConfiguration
		one.StateID, _ = rootmodule.FindState(b.CustomConfiguration, t.Spec.Workspace) // what cannot be read names none
	}
	return one
}

// sortByOrder sorts components by how many must be ready one after the other before each, and by
// name.
func sortByOrder(all []ComponentSummary) []ComponentSummary {
	after := map[string][]string{}
	for _, c := range all {
		after[c.Name] = c.After
	}
	depths := stack.Depths(list.Convert(all, func(c ComponentSummary) string { return c.Name }), func(name string) []string { return after[name] })
	slices.SortStableFunc(all, func(a, b ComponentSummary) int {
		return cmp.Or(cmp.Compare(depths[a.Name], depths[b.Name]), strings.Compare(a.Name, b.Name))
	})
	return all
}
