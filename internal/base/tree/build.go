package tree

import (
	"fmt"
	"slices"
	"strings"
)

// Builder makes a tree from files by path. The zero value is ready to use.
type Builder struct {
	files map[string]Entry
	dirs  map[string]*Builder
}

// Add adds a file. It refuses invalid and taken paths, and paths through a file.
func (b *Builder) Add(path string, data []byte) error {
	return b.AddEntry(path, File("", data))
}

// AddEntry adds a file, link or tree at path and ignores its name.
func (b *Builder) AddEntry(path string, e Entry) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	return b.add(path, path, e)
}

func (b *Builder) add(full, path string, e Entry) error {
	name, rest, deeper := strings.Cut(path, "/")
	if _, taken := b.files[name]; taken {
		return fmt.Errorf("%s: there is a file at %s already", full, strings.TrimSuffix(strings.TrimSuffix(full, rest), "/"))
	}
	if deeper {
		if b.dirs == nil {
			b.dirs = map[string]*Builder{}
		}
		if b.dirs[name] == nil {
			b.dirs[name] = &Builder{}
		}
		return b.dirs[name].add(full, rest, e)
	}
	if b.dirs[name] != nil {
		return fmt.Errorf("%s: there is a folder at that path already", full)
	}
	if b.files == nil {
		b.files = map[string]Entry{}
	}
	e.Name = name
	b.files[name] = e
	return nil
}

// Tree returns the tree of what was added.
func (b *Builder) Tree() Tree {
	entries := make([]Entry, 0, len(b.files)+len(b.dirs))
	for _, e := range b.files {
		entries = append(entries, e)
	}
	for name, sub := range b.dirs {
		entries = append(entries, Dir(name, sub.Tree()))
	}
	return FromEntries(entries)
}

// FromFiles makes a tree of regular files by path.
func FromFiles(files map[string][]byte) (Tree, error) {
	var b Builder
	for path, data := range files {
		if err := b.Add(path, data); err != nil {
			return Tree{}, err
		}
	}
	return b.Tree(), nil
}

// Union merges trees. A file in more than one of them is an error, even with equal content: two
// owners are a mistake.
func Union(trees ...Tree) (Tree, error) {
	all := slices.DeleteFunc(slices.Clone(trees), Tree.IsEmpty)
	if len(all) == 1 {
		return all[0], nil
	}
	return mergeTrees("", all)
}

func mergeTrees(prefix string, trees []Tree) (Tree, error) {
	var entries []Entry
	at := map[string]int{}
	for _, t := range trees {
		for _, e := range t.Entries() {
			i, taken := at[e.Name]
			if !taken {
				at[e.Name] = len(entries)
				entries = append(entries, e)
				continue
			}
			if !e.IsDir() || !entries[i].IsDir() {
				return Tree{}, fmt.Errorf("%s%s: two parts of the output want this path", prefix, e.Name)
			}
			merged, err := mergeTrees(prefix+e.Name+"/", []Tree{entries[i].Tree(), e.Tree()})
			if err != nil {
				return Tree{}, err
			}
			entries[i] = Dir(e.Name, merged)
		}
	}
	return FromEntries(entries), nil
}
