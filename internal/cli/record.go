package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/source"
)

// recordFile marks a folder that render has written, and may replace.
const recordFile = ".fairlead/output.yaml"

// record says what a folder was rendered from. There is no time in it: the same
// input gives the same record.
type record struct {
	APIVersion   string    `json:"apiVersion"`
	Kind         string    `json:"kind"`
	Environments []written `json:"environments"`
}

// written is one environment of a record.
type written struct {
	Environment string `json:"environment"`
	// Folder is where its files are; "" if they are in the folder itself.
	Folder string          `json:"folder,omitempty"`
	Tree   string          `json:"tree"` // its id, as Git has it
	From   []source.Commit `json:"from"`
}

func (r *renderCommand) record(done []rendered) record {
	rec := record{APIVersion: "fairlead.io/v1alpha1", Kind: "Output"}
	for _, e := range done {
		w := written{Environment: e.name, Tree: e.tree.ID().String(), From: e.from}
		if r.all {
			w.Folder = e.name
		}
		rec.Environments = append(rec.Environments, w)
	}
	return rec
}

func (r record) text() ([]byte, error) {
	data, err := asYAML(r)
	return append([]byte("# Written by fairlead render, which replaces this folder as a whole.\n"), data...), err
}

// readRecord gives the record of a folder; the zero record if there is none.
func readRecord(dir string) (record, error) {
	var r record
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(recordFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = yaml.Unmarshal(data, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read the record of %s: %w", dir, err)
	}
	return r, nil
}
