package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// recordComment is the comment in the record of a rendered folder.
const recordComment = "Written by fairlead render, which replaces this folder as a whole."

func (r *renderCommand) newRecord(done []source.Rendered) publish.Record {
	var all []publish.Written
	for _, e := range done {
		w := publish.Written{Environment: e.Environment, Tree: e.Tree.ID().String(), From: publish.Inputs(e.Commits)}
		if r.all {
			w.Folder = e.Environment
		}
		for _, entry := range e.Tree.Entries() { // so that a commit of this folder records which folders are generated
			if entry.IsDir() && !strings.HasPrefix(entry.Name, ".") {
				w.Folders = append(w.Folders, entry.Name)
			}
		}
		all = append(all, w)
	}
	return publish.NewRecord(all...)
}

// readRecord reads the record of a folder; it returns the zero record if there is none.
func readRecord(dir string) (publish.Record, error) {
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(publish.RecordFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return publish.Record{}, nil
	}
	if err != nil {
		return publish.Record{}, fmt.Errorf("read the record of %s: %w", dir, err)
	}
	r, err := publish.ReadRecord(data)
	if err != nil {
		return r, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}
