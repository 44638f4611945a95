package edit

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Object is an object as a file of a branch has it.
type Object struct {
	Kind, Name string
	File       string
	text       []byte
	document   int // of the file, by index
	root       *yaml.Node
}

// FindAll returns the objects of a kind in the files of a branch, by file. Files that cannot be read have none.
func FindAll(files tree.Tree, kind string) []Object {
	var found []Object
	for file, e := range files.Walk() {
		if ext := path.Ext(file); ext != ".yaml" && ext != ".yml" || !bytes.Contains(e.Data, []byte(writtenKind(kind))) {
			continue
		}
		documents, err := yamldoc.Parse(e.Data)
		if err != nil {
			continue
		}
		for i, d := range documents {
			root := yamldoc.RootOf(d)
			if root == nil || !isOfKind(kind, yamldoc.FindText(root, "apiVersion"), yamldoc.FindText(root, "kind")) {
				continue
			}
			found = append(found, Object{kind, yamldoc.FindText(root, "metadata", "name"), file, e.Data, i, root})
		}
	}
	return found
}

// StackKind is the kind of stacks in this package: CloudKnit's Environment, which is another one than Kalypso's.
const StackKind = "Stack"

func writtenKind(kind string) string {
	if kind == StackKind {
		return "Environment"
	}
	return kind
}

func isOfKind(kind, apiVersion, written string) bool {
	switch {
	case written != writtenKind(kind):
		return false
	case kind == StackKind:
		return slices.Contains(model.StackAPIVersions(), apiVersion)
	}
	return !isKalypso(kind) || apiVersion == model.APIVersion
}

// Find returns the object of a kind and a name.
func Find(files tree.Tree, kind, name string) (Object, error) {
	all := FindAll(files, kind)
	var names, places []string
	var found Object
	for _, o := range all {
		names = append(names, o.Name)
		if o.Name == name {
			found, places = o, append(places, o.File)
		}
	}
	switch len(places) {
	case 0:
		return Object{}, problem.Refusef(cmp.Or(problem.DidYouMean(name, names), "the branch has "+listNames(kind, names)), "the branch has no %s %s", kind, name)
	case 1:
		return found, nil
	}
	return Object{}, problem.Refusef("change it by hand", "several files have a %s %s: %s", kind, name, text.Join(places, " and "))
}

func listNames(kind string, names []string) string {
	if len(names) == 0 {
		return "no object of this kind"
	}
	return kind + " " + text.Join(names, " and ")
}

func (o Object) apply(edits ...yamldoc.TextEdit) ([]byte, error) {
	text := o.text
	for _, e := range edits {
		edited, err := e.Apply(text, o.document)
		if err != nil {
			return nil, problem.Refusef("", "%s: %v", o.File, err)
		}
		text = edited
	}
	return text, nil
}

// Delete returns the text of the object's file without it; nil if nothing else is in the file.
func (o Object) Delete() ([]byte, error) {
	documents, err := yamldoc.Parse(o.text)
	if err != nil {
		return nil, err
	}
	if len(documents) == 1 {
		return nil, nil
	}
	lines := bytes.SplitAfter(o.text, []byte("\n"))
	begin, end := 0, len(lines)
	for i, line := range lines {
		if !bytes.Equal(bytes.TrimRight(line, "\r\n\t "), []byte("---")) && !bytes.HasPrefix(line, []byte("--- ")) {
			continue
		}
		if i >= o.root.Line {
			end = i
			break
		}
		begin = i
	}
	if begin == 0 && end < len(lines) && !bytes.HasPrefix(lines[0], []byte("---")) { // the next document begins the file
		end++
	}
	text := bytes.Join(slices.Delete(lines, begin, end), nil)
	rest, err := yamldoc.Parse(text)
	if err != nil || len(rest) != len(documents)-1 {
		return nil, problem.Refusef("delete it by hand", "%s: %v", o.File, yamldoc.ErrLayout)
	}
	return text, nil
}

// newFile returns the file for a new object of a kind: in the folder in which the branch has most objects of
// the kind, or else in that of the kind.
func newFile(files tree.Tree, folder string, k *Kind, name string) string {
	counts, most := map[string]int{}, path.Join(folder, k.Folder)
	for _, o := range FindAll(files, k.Kind) {
		dir := path.Dir(o.File)
		counts[dir]++
		if counts[dir] > counts[most] {
			most = dir
		}
	}
	return path.Join(most, strings.ToLower(name)+".yaml")
}
