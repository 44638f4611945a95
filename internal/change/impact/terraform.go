package impact

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
)

// Destruction is a target whose infrastructure Terraform destroys. tofu-controller does
// so as soon as the object is deleted, without a plan to approve.
type Destruction struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
	// Modules are folders of modules, sorted.
	Modules []string `json:"modules"`
	// Dependants are the removed targets that need this one, in order of removal.
	Dependants []string `json:"dependants,omitempty"`
}

type terraformObject struct {
	Spec struct {
		Path               string
		Workspace          string
		ApprovePlan        string                 `yaml:"approvePlan"`
		DestroyOnDeletion  bool                   `yaml:"destroyResourcesOnDeletion"`
		BackendConfig      tfobject.BackendConfig `yaml:"backendConfig"`
		BackendConfigsFrom []kubeobject.Reference `yaml:"backendConfigsFrom"`
	}
}

func (o terraformObject) state() string {
	return fmt.Sprint(o.Spec.Workspace, "\x00", o.Spec.BackendConfig.CustomConfiguration, "\x00", o.Spec.BackendConfigsFrom)
}

func readTerraforms(files []tree.Entry) map[string]terraformObject {
	var all map[string]terraformObject
	for _, e := range files {
		if !bytes.Contains(e.Data, []byte("Terraform")) {
			continue
		}
		objects, _ := manifest.Decode(e.Data)
		for _, o := range objects {
			if o.Kind != "Terraform" {
				continue
			}
			var one terraformObject
			_ = o.Node.Decode(&one) // fields of other types are omitted
			if all == nil {
				all = map[string]terraformObject{}
			}
			all[o.Namespace+"/"+o.Name] = one
		}
	}
	return all
}

// visitTerraforms records destroyed infrastructure, and state that moves without
// approval.
func (s *survey) visitTerraforms(at location, old, new []tree.Entry) (destroyed []string) {
	before := readTerraforms(old)
	if len(before) == 0 {
		return nil
	}
	after := readTerraforms(new)
	for name, was := range before {
		is, stays := after[name]
		switch {
		case stays && is.Spec.ApprovePlan == tfobject.AutoApproved && was.state() != is.state():
			s.report.remade = append(s.report.remade, at.target+" on "+at.clusterType)
		case !stays && was.Spec.DestroyOnDeletion:
			destroyed = append(destroyed, was.Spec.Path)
		}
	}
	if len(destroyed) > 0 {
		slices.Sort(destroyed)
		destroyed = slices.Compact(destroyed)
		s.report.Destructions = append(s.report.Destructions, Destruction{ClusterType: at.clusterType, Target: at.target, Modules: destroyed})
	}
	return destroyed
}

func (s *survey) noteNeeds(at location, files []tree.Entry) {
	for _, e := range files {
		if !bytes.Contains(e.Data, []byte("dependsOn:")) {
			continue
		}
		objects, _ := manifest.Decode(e.Data)
		for _, o := range objects {
			var read struct {
				Spec struct {
					DependsOn []kubeobject.Reference `yaml:"dependsOn"`
				}
			}
			if o.Name != at.target {
				continue
			}
			_ = o.Node.Decode(&read) // as in readTerraforms
			for _, d := range read.Spec.DependsOn {
				s.needs[at] = append(s.needs[at], d.Name)
			}
		}
	}
}

func (s *survey) orderDestructions() {
	users := map[location][]string{} // direct dependants
	for at, names := range s.needs {
		for _, name := range names {
			needed := location{clusterType: at.clusterType, target: name}
			users[needed] = append(users[needed], at.target)
		}
	}
	find := func(clusterType, target string) map[string]bool {
		found, todo := map[string]bool{}, []string{target}
		for len(todo) > 0 {
			for _, user := range users[location{clusterType: clusterType, target: todo[0]}] {
				if !found[user] {
					found[user], todo = true, append(todo, user)
				}
			}
			todo = todo[1:]
		}
		return found
	}
	for i, d := range s.report.Destructions {
		if len(users) == 0 {
			return
		}
		s.report.Destructions[i].Dependants = slices.SortedFunc(maps.Keys(find(d.ClusterType, d.Target)), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(find(d.ClusterType, a)), len(find(d.ClusterType, b))), strings.Compare(a, b))
		})
	}
}

// destructionText describes what Terraform destroys, and the steps to remove it. show
// formats names.
func (r Report) destructionText(show func(string) string) string {
	if len(r.Destructions) == 0 {
		return ""
	}
	modules := map[string][]string{}
	for _, d := range r.Destructions {
		modules[d.Target] = append(modules[d.Target], d.Modules...)
	}
	var targets []string
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		slices.Sort(modules[name])
		folders := list.Convert(slices.Compact(modules[name]), show)
		targets = append(targets, show(name)+" (module "+strings.Join(folders, ", ")+")")
	}
	all := "Terraform destroys what " + joinSome(targets, "target") + " made as soon as clusters get this, without asking for approval of a plan"
	if steps := r.destructionSteps(show); steps != "" {
		all += steps + ", each once the one before is gone"
	}
	return all
}

// destructionSteps returns the order of removal as the rest of a sentence; "" if it
// does not matter.
func (r Report) destructionSteps(show func(string) string) string {
	var steps [][]string
	for _, d := range r.Destructions {
		if len(d.Dependants) > 0 {
			steps = append(steps, list.Convert(append(slices.Clone(d.Dependants), d.Target), show))
		}
	}
	if steps == nil {
		return ""
	}
	orders := list.Convert(dropContained(steps), joinSteps)
	slices.Sort(orders)
	return ", and all at the same time: to keep the order, remove " + joinSome(slices.Compact(orders), "order")
}

func joinSteps(names []string) string { return strings.Join(names, ", then ") }

func dropContained(steps [][]string) [][]string {
	return slices.DeleteFunc(slices.Clone(steps), func(one []string) bool {
		return slices.ContainsFunc(steps, func(other []string) bool { return len(other) > len(one) && slices.Equal(other[:len(one)], one) })
	})
}

func joinSome(texts []string, unit string) string {
	if more := len(texts) - maxExamples; more > 0 {
		texts = append(slices.Clone(texts[:maxExamples]), text.Count(more, "more "+unit))
	}
	return text.Join(texts, " and ")
}

// isSealed reports whether a Kustomization of its own applies the target's objects, and
// changes.
func (p location) isSealed() bool { return p.seals != [2]string{} }

func findSeals(changes []tree.Change) (seals [2]string) {
	for _, c := range changes {
		name, _, _ := strings.Cut(c.Path, "/")
		switch {
		case !strings.HasPrefix(name, kubeobject.SealPrefix):
		case c.Added():
			seals[1] = name
		default:
			seals[0] = name
		}
	}
	return seals
}

// withoutSeals omits changes of seals, which follow from the rest.
func withoutSeals(changes []tree.Change) []tree.Change {
	rest := slices.DeleteFunc(slices.Clone(changes), func(c tree.Change) bool {
		return strings.HasPrefix(c.Path, kubeobject.SealPrefix)
	})
	if len(rest) == 0 {
		return changes
	}
	return rest
}
