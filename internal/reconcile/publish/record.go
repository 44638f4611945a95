package publish

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// RecordFile is the file that names, in a folder that Fairlead writes, what it owns there.
const RecordFile = ".fairlead/output.yaml"

// Record says what a folder was rendered from. There is no time in it: the same
// input makes the same record.
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
	// them. There are none in what was written as a whole, to a folder of its own.
	Folders []string `json:"folders,omitempty" yaml:"folders,omitempty"`
	From    []Input  `json:"from" yaml:"from"`
	// Stopped are stacks that were not rendered, because another environment had them, or, in what "fairlead
	// render" has written, because any problem stopped them: they stayed as they were.
	Stopped []string `json:"stopped,omitempty" yaml:"stopped,omitempty"`
}

// Input is where a layer came from.
type Input struct {
	Layer  string `json:"layer" yaml:"layer"`
	Repo   string `json:"repo,omitempty" yaml:"repo,omitempty"`
	Commit string `json:"commit,omitempty" yaml:"commit,omitempty"`
	Folder string `json:"folder,omitempty" yaml:"folder,omitempty"`
	// Moves is set if modules of stacks are read from it that are named by a branch.
	Moves bool `json:"moves,omitempty" yaml:"moves,omitempty"`
}

// BaseLayer is the layer of the base among inputs.
const BaseLayer = "base"

// Input returns where a layer came from, and reports whether the record names it.
func (w Written) Input(layer string) (in Input, ok bool) {
	i := slices.IndexFunc(w.From, func(in Input) bool { return in.Layer == layer })
	if i < 0 {
		return Input{}, false
	}
	return w.From[i], true
}

// NewRecord makes a record of environments.
func NewRecord(written ...Written) Record { return Record{"fairlead.io/v1alpha1", "Output", written} }

// Inputs converts commits to the inputs of a record.
func Inputs(commits []source.Commit) []Input {
	inputs := make([]Input, 0, len(commits))
	for _, c := range commits {
		inputs = append(inputs, Input{c.Layer, c.Repo, c.Commit, c.Folder, c.Moves})
	}
	return inputs
}

// Text returns the text of the record; about is its comment. That of a branch has
// one environment, with a folder for each of thousands of cluster types: if none of the names
// needs quotes, those after the first are put in by us.
func (r Record) Text(about string) ([]byte, error) {
	var left []string
	if len(r.Environments) == 1 && len(r.Environments[0].Folders) > 1 {
		short := r.Environments[0]
		if !slices.ContainsFunc(short.Folders, needsQuotes) {
			short.Folders, left = short.Folders[:1], short.Folders[1:]
			r.Environments = []Written{short}
		}
	}
	rest, err := yamldoc.Encode(r)
	text := []byte("# " + about + "\n")
	if len(left) > 0 {
		first := fmt.Sprintf("    folders:\n      - %s\n", r.Environments[0].Folders[0])
		end := bytes.Index(rest, []byte(first)) + len(first)
		text, rest = append(text, rest[:end]...), rest[end:]
		for _, name := range left {
			text = append(append(append(text, "      - "...), name...), '\n')
		}
	}
	return append(text, rest...), err
}

// needsQuotes reports whether a name may have to be quoted in YAML, or means something else.
func needsQuotes(name string) bool {
	switch name {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	plain := func(c rune) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' }
	return name == "" || name[0] < 'a' || strings.ContainsFunc(name, func(c rune) bool { return !plain(c) })
}

// recordComment is what the comment of the record in an output says.
const recordComment = "Written by Fairlead. The folders named here are its own: it replaces them as a whole."

// ReadRecord reads a record.
func ReadRecord(data []byte) (Record, error) {
	var r Record
	if err := yaml.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("read %s: %w", RecordFile, err)
	}
	if known := NewRecord(); r.APIVersion != known.APIVersion || r.Kind != known.Kind {
		return Record{}, fmt.Errorf("read %s: it is not of apiVersion %s and kind %s", RecordFile, known.APIVersion, known.Kind)
	}
	return r, nil
}

// Records remembers the records that were read last: that of a large fleet takes
// milliseconds. It may be used concurrently, and the zero value is ready to use; nil
// remembers nothing.
type Records struct {
	mu    sync.Mutex
	known map[tree.ID]Record
}

// maxRecords bounds what is remembered: a record has the names of all cluster types.
const maxRecords = 32

// ReadIn reads the record in a folder; the zero Record if there is none. That it cannot be read is an
// [ErrBlocked].
func (m *Records) ReadIn(folder tree.Tree) (Record, error) {
	file, ok := folder.Lookup(RecordFile)
	if !ok || file.IsDir() {
		return Record{}, nil
	}
	r, err := m.Read(file)
	if err != nil {
		return Record{}, newBlocked("restore it from an older commit", "%s", err)
	}
	return r, nil
}

// Read reads the record in a file. It must not be changed.
func (m *Records) Read(file tree.Entry) (Record, error) {
	if m == nil {
		return ReadRecord(file.Data)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.known[file.ID]; ok {
		return r, nil
	}
	r, err := ReadRecord(file.Data)
	if err != nil {
		return Record{}, err
	}
	if m.known == nil || len(m.known) >= maxRecords {
		m.known = map[tree.ID]Record{}
	}
	m.known[file.ID] = r
	return r, nil
}
