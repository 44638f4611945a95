package publish

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/output"
	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// RecordFile says, in a folder that Fairlead has written, what it owns there.
const RecordFile = ".fairlead/output.yaml"

// Record says what a folder was rendered from. There is no time in it: the same
// input gives the same record.
type Record struct {
	APIVersion   string    `json:"apiVersion" yaml:"apiVersion"`
	Kind         string    `json:"kind" yaml:"kind"`
	Environments []Written `json:"environments" yaml:"environments"`
}

// Written is one environment of a record.
type Written struct {
	Environment string `json:"environment" yaml:"environment"`
	// Folder is where its files are; "" if they are in the folder itself.
	Folder string `json:"folder,omitempty" yaml:"folder,omitempty"`
	Tree   string `json:"tree" yaml:"tree"` // the id of what was rendered, as Git has it
	// Folders are those that are replaced as a whole, and removed once nothing is in
	// them; empty if all of it is.
	Folders []string `json:"folders,omitempty" yaml:"folders,omitempty"`
	From    []Input  `json:"from" yaml:"from"`
}

// Input is where a layer came from.
type Input struct {
	Layer  string `json:"layer" yaml:"layer"`
	Repo   string `json:"repo,omitempty" yaml:"repo,omitempty"`
	Commit string `json:"commit,omitempty" yaml:"commit,omitempty"`
	Folder string `json:"folder,omitempty" yaml:"folder,omitempty"`
}

// NewRecord makes a record of environments.
func NewRecord(written ...Written) Record { return Record{"fairlead.io/v1alpha1", "Output", written} }

// Inputs gives commits as records have them.
func Inputs(commits []source.Commit) []Input {
	inputs := make([]Input, 0, len(commits))
	for _, c := range commits {
		inputs = append(inputs, Input{c.Layer, c.Repo, c.Commit, c.Folder})
	}
	return inputs
}

// Text gives the record as it is written; about is what its comment says.
func (r Record) Text(about string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", about)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := errors.Join(e.Encode(r), e.Close())
	return b.Bytes(), err
}

// aboutOutput is what the comment of the record in an output says.
const aboutOutput = "Written by Fairlead. The folders named here are its own: it replaces them as a whole."

// ReadRecord reads a record; the zero Record if there is none.
func ReadRecord(data []byte) (Record, error) {
	var r Record
	if err := yaml.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("read %s: %w", RecordFile, err)
	}
	return r, nil
}

// Adoption says how files came to be ours that no record says are.
type Adoption struct {
	// Kalypso says that the folder was written by Kalypso's scheduler, whose rule
	// is that all folders are generated but those that begin with a dot.
	Kalypso bool
	Folders []string // that are replaced or removed
}

// composed is what a folder of the output branch is to hold.
type composed struct {
	tree     tree.Tree
	same     bool      // but for the record and the promoted commit, it holds that already
	before   tree.Tree // what is replaced or removed
	adoption Adoption
}

// compose puts what was rendered among what is there. Folders of our record that are
// no longer rendered go, those that are rendered are exactly that, and everything
// else stays byte for byte.
func compose(now tree.Tree, written Written, rendered tree.Tree) (composed, error) {
	owned, adoption, err := ownedFolders(now, written.Environment, rendered)
	if err != nil {
		return composed{}, err
	}
	fresh := map[string]tree.Entry{}
	for _, e := range rendered.Entries() {
		fresh[e.Name] = e
	}
	var entries, before []tree.Entry
	for _, e := range now.Entries() {
		replacement, replaced := fresh[e.Name]
		switch {
		case replaced && e.IsDir() && strings.HasPrefix(e.Name, "."):
			fresh[e.Name] = tree.Dir(e.Name, overlay(e.Tree(), replacement.Tree()))
		case replaced && !e.IsDir():
			return composed{}, fmt.Errorf("there is a file %s where the folder of a cluster type is to be", e.Name)
		case replaced, e.IsDir() && owned[e.Name]:
			before = append(before, e)
		default:
			entries = append(entries, e)
		}
	}
	for _, e := range rendered.Entries() {
		entries = append(entries, fresh[e.Name])
		if !strings.HasPrefix(e.Name, ".") {
			written.Folders = append(written.Folders, e.Name)
		}
	}
	slices.Sort(written.Folders)
	text, err := NewRecord(written).Text(aboutOutput)
	if err != nil {
		return composed{}, err
	}
	whole := put(tree.FromEntries(entries), RecordFile, text)
	return composed{whole, tree.Equal(bare(now), bare(whole)), tree.FromEntries(before), adoption}, nil
}

// ownedFolders gives the folders that are ours to replace or remove.
func ownedFolders(now tree.Tree, environment string, rendered tree.Tree) (map[string]bool, Adoption, error) {
	owned := map[string]bool{}
	if e, ok := now.Lookup(RecordFile); ok {
		r, err := ReadRecord(e.Data)
		if err != nil {
			return nil, Adoption{}, err
		}
		for _, w := range r.Environments {
			if w.Environment != environment {
				return nil, Adoption{}, fmt.Errorf("%s says that the folder belongs to environment %s", RecordFile, w.Environment)
			}
			for _, name := range w.Folders {
				owned[name] = !strings.HasPrefix(name, ".")
			}
		}
		return owned, Adoption{}, nil
	}
	adoption := Adoption{Kalypso: isKalypso(now)}
	for _, e := range now.Entries() {
		if !e.IsDir() || strings.HasPrefix(e.Name, ".") {
			continue
		}
		_, replaced := rendered.Lookup(e.Name)
		if adoption.Kalypso || replaced {
			owned[e.Name] = true
			adoption.Folders = append(adoption.Folders, e.Name)
		}
	}
	return owned, adoption, nil
}

// isKalypso recognises what Kalypso's scheduler writes.
func isKalypso(t tree.Tree) bool {
	if _, ok := t.Lookup(output.TrackingFile); ok {
		return true
	}
	for _, e := range t.Entries() {
		if readme, ok := e.Tree().Lookup("README.md"); ok && string(readme.Data) == output.ReadmeText {
			return true
		}
	}
	return false
}

// overlay puts files over those of another tree.
func overlay(below, above tree.Tree) tree.Tree {
	merged := map[string]tree.Entry{}
	for _, e := range below.Entries() {
		merged[e.Name] = e
	}
	for _, e := range above.Entries() {
		if old, ok := merged[e.Name]; ok && old.IsDir() && e.IsDir() {
			e = tree.Dir(e.Name, overlay(old.Tree(), e.Tree()))
		}
		merged[e.Name] = e
	}
	entries := make([]tree.Entry, 0, len(merged))
	for _, e := range merged {
		entries = append(entries, e)
	}
	return tree.FromEntries(entries)
}

// put gives a tree with a file, or without it if data is nil.
func put(t tree.Tree, file string, data []byte) tree.Tree {
	name, rest, deeper := strings.Cut(file, "/")
	var entries []tree.Entry
	var sub tree.Tree
	for _, e := range t.Entries() {
		if e.Name != name {
			entries = append(entries, e)
			continue
		}
		sub = e.Tree()
	}
	switch {
	case deeper:
		entries = append(entries, tree.Dir(name, put(sub, rest, data)))
	case data != nil:
		entries = append(entries, tree.File(name, data))
	}
	return tree.FromEntries(entries)
}

// bare gives a tree without what changes though nothing else does.
func bare(t tree.Tree) tree.Tree { return put(put(t, RecordFile, nil), output.TrackingFile, nil) }

// replaceFolder gives a tree in which a folder holds something else.
func replaceFolder(t tree.Tree, folder string, with tree.Tree) tree.Tree {
	folder = cleanFolder(folder)
	if folder == "" {
		return with
	}
	name, rest, _ := strings.Cut(folder, "/")
	var entries []tree.Entry
	var sub tree.Tree
	for _, e := range t.Entries() {
		if e.Name != name {
			entries = append(entries, e)
			continue
		}
		sub = e.Tree()
	}
	return tree.FromEntries(append(entries, tree.Dir(name, replaceFolder(sub, rest, with))))
}

// cleanFolder gives a path as trees have it: "" for the root.
func cleanFolder(folder string) string { return strings.Trim(path.Clean("/"+folder), "/") }
