package edit

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// NewEnvironment is an environment to be made as a copy of another one.
type NewEnvironment struct {
	Name, From string
	// After are the environments that it comes after in the order of promotion; nil for From. Before are
	// those that come after it from now on, and no longer after After.
	After, Before []string
}

// EnvironmentFiles are the files that make an environment.
type EnvironmentFiles struct {
	Base   map[string][]byte // on the base's branch
	Branch map[string][]byte // on its own branch, where they differ from the other one's
	Notes  []string          // sentences about what to look at, without full stops
}

// CreateEnvironment returns the files of an environment. base and branch are the files of the base and of
// the other environment's branch.
func CreateEnvironment(base, branch tree.Tree, e NewEnvironment) (EnvironmentFiles, error) {
	made := EnvironmentFiles{map[string][]byte{}, map[string][]byte{}, nil}
	from, err := Find(base, "Environment", e.From)
	if err != nil {
		return made, err
	}
	row := KindRow("Environment")
	for _, o := range FindAll(base, row.Kind) {
		if o.Name == e.Name {
			return made, problem.Refusef("take another name", "%s has an environment %s already", o.File, e.Name)
		}
	}
	named := path.Join(path.Dir(from.File), e.Name+".yaml")
	if _, taken := base.Lookup(named); taken {
		return made, problem.Refusef("rename it", "there is a file %s already", named)
	}
	root, err := row.newObject(e.Name, nil)
	if err != nil {
		return made, err
	}
	for _, key := range []string{"repo", "branch", "path"} {
		value := yamldoc.FindText(from.root, "spec", "controlPlane", key)
		if key == "branch" {
			value = e.Name
		}
		setPath(root, yamldoc.Path{"spec", "controlPlane", key}, textNode(value))
	}
	made.Base[named], err = yamldoc.Encode(root)
	if err == nil {
		err = e.addOutput(branch, &made)
	}
	if err == nil {
		err = e.addStage(base, &made)
	}
	if err == nil {
		err = e.omitStacks(branch, &made)
	}
	e.noteValues(branch, &made)
	return made, err
}

func (e NewEnvironment) addOutput(branch tree.Tree, made *EnvironmentFiles) error {
	all := FindAll(branch, "GitOpsRepo")
	if len(all) != 1 {
		return problem.Refusef("an environment has one GitOpsRepo", "the branch of %s has %d objects of kind GitOpsRepo", e.From, len(all))
	}
	o := all[0]
	edits := []yamldoc.TextEdit{{Path: yamldoc.Path{"metadata", "name"}, Value: textNode(e.Name)}}
	folder, output := yamldoc.FindText(o.root, "spec", "path"), yamldoc.FindText(o.root, "spec", "branch")
	in := func(parts string) bool { return slices.Contains(strings.Split(parts, "/"), e.From) }
	if in(folder) && !in(output) {
		edits = append(edits, yamldoc.TextEdit{Path: yamldoc.Path{"spec", "path"}, Value: textNode(e.rename(folder))})
	} else {
		place := e.Name
		if in(output) {
			place = e.rename(output)
		}
		edits = append(edits, yamldoc.TextEdit{Path: yamldoc.Path{"spec", "branch"}, Value: textNode(place)})
		made.Notes = append(made.Notes, fmt.Sprintf("its output goes to the branch %s: make it in the GitOps repository, unless the settings have output: {create: true}", place))
	}
	text, err := o.apply(edits...)
	made.Branch[o.File] = text
	return err
}

func (e NewEnvironment) rename(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if part == e.From {
			parts[i] = e.Name
		}
	}
	return strings.Join(parts, "/")
}

// addStage puts the environment into the order of promotion, if that is written.
func (e NewEnvironment) addStage(base tree.Tree, made *EnvironmentFiles) error {
	o, listed := findOrder(base)
	if !listed {
		if e.After != nil || e.Before != nil {
			return problem.Refusef("write a Promotion with environments first", "the order of promotion is not written")
		}
		made.Notes = append(made.Notes, "the order of promotion is not written, so it follows from the names: a Promotion declares it")
		return nil
	}
	after := e.After
	if after == nil {
		after = []string{e.From}
	}
	item := newMapping()
	setPath(item, yamldoc.Path{"name"}, textNode(e.Name))
	setPath(item, yamldoc.Path{"after"}, listNode(after))
	list := yamldoc.Path{"spec", "environments"}
	edits := []yamldoc.TextEdit{{Path: list, Insert: true, After: after[len(after)-1], Value: item}}
	for _, name := range e.Before {
		was := readList(append(slices.Clip(list), name, "after").Find(o.root))
		is := append(slices.DeleteFunc(was, func(n string) bool { return slices.Contains(after, n) }), e.Name)
		edits = append(edits, yamldoc.TextEdit{Path: append(slices.Clip(list), name, "after"), Value: listNode(is)})
	}
	text, err := o.apply(edits...)
	made.Base[o.File] = text
	return err
}

// omitStacks leaves out the stacks, which would share their states with those of the other environment.
func (e NewEnvironment) omitStacks(branch tree.Tree, made *EnvironmentFiles) error {
	for _, found := range FindAll(branch, StackKind) {
		text, changed := made.Branch[found.File]
		if !changed {
			text = found.text
		}
		rest, err := tree.FromFiles(map[string][]byte{found.File: text})
		if err != nil {
			return err
		}
		o := FindAll(rest, StackKind)[0]
		made.Branch[found.File], err = o.Delete()
		if err != nil {
			return err
		}
		team, env := yamldoc.FindText(o.root, "spec", "teamName"), yamldoc.FindText(o.root, "spec", "envName")
		parts := strings.Split(env, "-")
		if i := slices.Index(parts, e.From); i >= 0 {
			parts[i] = e.Name
		} else {
			parts = append(parts, e.Name)
		}
		made.Notes = append(made.Notes, fmt.Sprintf("the stack %s/%s is not copied: fairlead stack clone %s %[1]s/%[2]s %[1]s/%[4]s --into %[5]s copies it", team, env, e.From, strings.Join(parts, "-"), e.Name))
	}
	return nil
}

func (e NewEnvironment) noteValues(branch tree.Tree, made *EnvironmentFiles) {
	for _, o := range FindAll(branch, "ConfigMap") {
		data := yamldoc.FindValue(o.root, "data")
		if data == nil {
			continue
		}
		for i := 0; i+1 < len(data.Content); i += 2 {
			if data.Content[i+1].Value == e.From {
				key := data.Content[i].Value
				made.Notes = append(made.Notes, fmt.Sprintf("%s of the config %s is %s: fairlead set -e %s config/%[2]s %[1]s=%[4]s changes it", key, o.Name, e.From, e.Name))
			}
		}
	}
}

// findOrder returns the Promotion that lists environments; false if there is none, or not one.
func findOrder(base tree.Tree) (Object, bool) {
	all := FindAll(base, "Promotion")
	if len(all) != 1 {
		return Object{}, false
	}
	list := yamldoc.FindValue(all[0].root, "spec", "environments")
	return all[0], list != nil && len(list.Content) > 0
}

// DeleteEnvironment returns the files of the base without an environment. What comes after it in the order of
// promotion comes after its predecessors then.
func DeleteEnvironment(base tree.Tree, name string) (map[string][]byte, error) {
	file, text, err := Delete(base, "Environment", name, "")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{file: text}
	o, listed := findOrder(base)
	list := yamldoc.Path{"spec", "environments"}
	item := append(slices.Clip(list), name)
	if !listed || item.Find(o.root) == nil {
		return files, nil
	}
	before := readList(append(slices.Clip(item), "after").Find(o.root))
	edits := map[string]yamldoc.TextEdit{}
	for _, stage := range list.Find(o.root).Content {
		follower := yamldoc.FindText(stage, "name")
		after := readList(yamldoc.FindValue(stage, "after"))
		if i := slices.Index(after, name); i >= 0 {
			e := yamldoc.TextEdit{Path: append(slices.Clip(list), follower, "after")}
			if is := slices.Compact(slices.Replace(after, i, i+1, before...)); len(is) > 0 {
				e.Value = listNode(is)
			}
			edits[follower] = e
		}
	}
	ordered := []yamldoc.TextEdit{}
	for _, follower := range slices.Sorted(maps.Keys(edits)) {
		ordered = append(ordered, edits[follower])
	}
	files[o.File], err = o.apply(append(ordered, yamldoc.TextEdit{Path: item})...)
	return files, err
}

func readList(n *yaml.Node) []string {
	var names []string
	if n != nil {
		for _, item := range n.Content {
			names = append(names, item.Value)
		}
	}
	return names
}

func listNode(names []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, name := range names {
		n.Content = append(n.Content, textNode(name))
	}
	return n
}
