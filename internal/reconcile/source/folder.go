package source

import (
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

const (
	// maxYAML bounds a YAML file whose content is read; the model reports a larger
	// one.
	maxYAML = 32 << 20
	// maxOther bounds other files, which only a kustomization may want.
	maxOther = 1 << 20
)

func isContentWanted(file string, size int64) bool {
	if isYAML(file) {
		return size <= maxYAML
	}
	return size <= maxOther
}

// ReadFolder reads a folder of this machine. Nothing outside of it is read: symbolic
// links are taken for what they are. A Git folder in it is left out, and so is what
// is not a file.
func ReadFolder(dir string) (tree.Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return tree.Tree{}, err
	}
	defer root.Close()
	t, err := readSubfolder(root, ".")
	if err != nil {
		return tree.Tree{}, fmt.Errorf("read %s: %w", dir, err)
	}
	return t, nil
}

func readSubfolder(root *os.Root, dir string) (tree.Tree, error) {
	list, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return tree.Tree{}, err
	}
	var entries []tree.Entry
	for _, d := range list {
		if d.Name() == ".git" {
			continue
		}
		if err := tree.CheckPath(d.Name()); err != nil {
			return tree.Tree{}, err
		}
		e, ok, err := readEntry(root, path.Join(dir, d.Name()), d)
		if err != nil {
			return tree.Tree{}, err
		}
		if ok {
			entries = append(entries, e)
		}
	}
	return tree.FromEntries(entries), nil
}

func readEntry(root *os.Root, file string, d fs.DirEntry) (e tree.Entry, ok bool, err error) {
	switch {
	case d.IsDir():
		sub, err := readSubfolder(root, file)
		return tree.Dir(d.Name(), sub), true, err
	case d.Type() == fs.ModeSymlink:
		target, err := root.Readlink(file)
		return tree.Link(d.Name(), target), true, err
	case !d.Type().IsRegular():
		return tree.Entry{}, false, nil
	}
	info, err := d.Info()
	if err != nil {
		return tree.Entry{}, false, err
	}
	if !isContentWanted(file, info.Size()) {
		// The id is not Git's, but that of a file that was not read.
		return tree.Entry{Name: d.Name(), Mode: tree.ModeFile, ID: tree.HashBlob([]byte("not read: " + file))}, true, nil
	}
	data, err := root.ReadFile(file)
	return tree.File(d.Name(), data), true, err
}
