package gittest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/fairlead-io/fairlead/internal/git/pack"
)

type entry struct {
	mode filemode.FileMode
	id   objectID
}

// readFolder returns the tree of a folder of the work tree, zero if it has no file, with all objects below it, and adds
// its files to a map, by their paths. Git treats some files by what others say: then it is left to git.
func (w *Work) readFolder(folder string, files map[string]entry) (id objectID, made []object, err error) {
	inside, err := os.ReadDir(filepath.Join(w.Dir, filepath.FromSlash(folder)))
	if err != nil {
		return id, nil, err
	}
	lines := map[string]string{} // by name as trees are sorted
	for _, e := range inside {
		name := e.Name()
		if name == ".git" && folder == "" {
			continue
		}
		if isSpecial(name) {
			return id, nil, errLeft
		}
		if e.IsDir() {
			below, more, err := w.readFolder(path.Join(folder, name), files)
			if err != nil {
				return id, nil, err
			}
			if below != (objectID{}) {
				made = append(made, more...)
				lines[sortedName(filemode.Dir, name)] = formatEntry(filemode.Dir, name, below)
			}
			continue
		}
		mode, data, err := w.readFile(path.Join(folder, name))
		if err != nil {
			return id, nil, err
		}
		file := newObject(pack.Blob, data)
		made = append(made, file)
		files[path.Join(folder, name)] = entry{mode, file.id}
		lines[name] = formatEntry(mode, name, file.id)
	}
	if len(lines) == 0 {
		return id, made, nil
	}
	tree := newTree(lines)
	return tree.id, append(made, tree), nil
}

// isSpecial reports whether git treats other files by what one says.
func isSpecial(name string) bool {
	return name == ".git" || name == ".gitignore" || name == ".gitattributes" || name == ".gitmodules"
}

// readFile returns a file of the work tree as git keeps it.
func (w *Work) readFile(name string) (filemode.FileMode, []byte, error) {
	full := filepath.Join(w.Dir, filepath.FromSlash(name))
	info, err := os.Lstat(full)
	if err != nil {
		return 0, nil, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(full)
		return filemode.Symlink, []byte(target), err
	case !info.Mode().IsRegular():
		return 0, nil, errLeft
	}
	data, err := os.ReadFile(full)
	if info.Mode()&0o100 != 0 {
		return filemode.Executable, data, err
	}
	return filemode.Regular, data, err
}

// writeIndex writes the list of the files that git compares the work tree with.
func (w *Work) writeIndex(files map[string]entry) error {
	all := index.Index{Version: 2}
	for name, f := range files {
		all.Entries = append(all.Entries, &index.Entry{Name: name, Mode: f.mode, Hash: plumbing.Hash(f.id)})
	}
	var text bytes.Buffer
	if err := index.NewEncoder(&text).Encode(&all); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.own.dir, "index"), text.Bytes(), 0o644); err != nil {
		return err
	}
	w.noteIndex()
	return nil
}

// noteIndex notes that the index has the files of HEAD, and no others.
func (w *Work) noteIndex() { w.index = w.stateOfIndex() }

func (w *Work) stateOfIndex() fileState {
	info, err := os.Stat(filepath.Join(w.own.dir, "index"))
	if err != nil {
		return fileState{}
	}
	return fileState{info.Size(), info.ModTime()}
}

// removeFile removes a file below a folder, and the folders that it leaves empty.
func removeFile(dir, name string) {
	for ; name != "."; name = path.Dir(name) {
		if os.Remove(filepath.Join(dir, filepath.FromSlash(name))) != nil { // it has gone, or is not empty
			break
		}
	}
}

// restoreFile makes a file of the work tree that of a commit.
func (w *Work) restoreFile(name string, f entry) error {
	kind, data, err := w.own.packs.Read(f.id)
	if err != nil || kind != pack.Blob {
		return errLeft
	}
	if mode, is, err := w.readFile(name); err == nil && mode == f.mode && bytes.Equal(is, data) {
		return nil
	}
	full := filepath.Join(w.Dir, filepath.FromSlash(name))
	if err := os.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	switch f.mode {
	case filemode.Symlink:
		return os.Symlink(string(data), full)
	case filemode.Executable:
		return os.WriteFile(full, data, 0o755)
	case filemode.Regular:
		return os.WriteFile(full, data, 0o644)
	default:
		return errLeft
	}
}

// listFiles returns the files of a commit by their paths, none of the zero commit.
func (o *store) listFiles(commit objectID) (map[string]entry, error) {
	files := map[string]entry{}
	if commit == (objectID{}) {
		return files, nil
	}
	l, err := o.linksOf(commit)
	if err != nil || len(l.folders) != 1 {
		return nil, errLeft
	}
	return files, o.addEntries(files, "", l.folders[0])
}

func (o *store) addEntries(files map[string]entry, prefix string, folder objectID) error {
	kind, data, err := o.packs.Read(folder)
	if err != nil || kind != pack.Tree {
		return errLeft
	}
	return eachEntry(data, func(mode filemode.FileMode, name string, id objectID) error {
		if isSpecial(name) {
			return errLeft
		}
		if mode == filemode.Dir {
			return o.addEntries(files, prefix+name+"/", id)
		}
		files[prefix+name] = entry{mode, id}
		return nil
	})
}
