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
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// RecordFile names what Fairlead owns in a folder.
const RecordFile = ".fairlead/output.yaml"

// Record describes what a folder was rendered from. It contains no time: the same input gives the
// same record.
type Record struct {
	APIVersion   string    `json:"apiVersion" yaml:"apiVersion"`
	Kind         string    `json:"kind" yaml:"kind"`
	Environments []Written `json:"environments" yaml:"environments"`
}

// Written is one environment of a record.
type Written struct {
	Environment string `json:"environment" yaml:"environment"`
	// Folder contains its files; "" for the record's folder.
	Folder string `json:"folder,omitempty" yaml:"folder,omitempty"`
	Tree   string `json:"tree" yaml:"tree"` // Git id of the rendered tree
	// Folders are replaced as a whole, and removed when empty. There are none if the environment
	// has a folder of its own.
	Folders []string `json:"folders,omitempty" yaml:"folders,omitempty"`
	From    []Input  `json:"from" yaml:"from"`
	// Older and Advance are set between waves: Tree and From are the target's.
	Older   []Older       `json:"older,omitempty" yaml:"older,omitempty"`
	Advance *wave.Advance `json:"advance,omitempty" yaml:"advance,omitempty"`
	// Stopped has stacks that were not rendered and stayed unchanged: another environment had them
	// or, for "fairlead render", a problem stopped them.
	Stopped []string `json:"stopped,omitempty" yaml:"stopped,omitempty"`
}

// Input is the source of a layer.
type Input struct {
	Layer  string `json:"layer" yaml:"layer"`
	Repo   string `json:"repo,omitempty" yaml:"repo,omitempty"`
	Commit string `json:"commit,omitempty" yaml:"commit,omitempty"`
	Folder string `json:"folder,omitempty" yaml:"folder,omitempty"`
	// Moves is set if stacks use modules from a branch of it.
	Moves bool `json:"moves,omitempty" yaml:"moves,omitempty"`
	// Lanes are the commits of the parts of the base that are not of Commit, by lane.
	Lanes map[string]string `json:"lanes,omitempty" yaml:"lanes,omitempty"`
}

// BaseLayer is the layer of the base.
const BaseLayer = "base"

// Input returns the source of a layer, and false if it is not recorded.
func (w Written) Input(layer string) (in Input, ok bool) {
	i := slices.IndexFunc(w.From, func(in Input) bool { return in.Layer == layer })
	if i < 0 {
		return Input{}, false
	}
	return w.From[i], true
}

// Revisions returns the revisions that inputs of an environment name.
func Revisions(environment string, from []Input) source.Revisions {
	commits := make([]source.Commit, 0, len(from))
	for _, in := range from {
		commits = append(commits, source.Commit{Layer: in.Layer, Repo: in.Repo, Commit: in.Commit, Moves: in.Moves})
	}
	return source.RecordedRevisions(environment, commits)
}

// NewRecord returns a record of environments.
func NewRecord(written ...Written) Record { return Record{"fairlead.io/v1alpha1", "Output", written} }

// Inputs converts commits to inputs.
func Inputs(commits []source.Commit) []Input {
	inputs := make([]Input, 0, len(commits))
	for _, c := range commits {
		inputs = append(inputs, Input{c.Layer, c.Repo, c.Commit, c.Folder, c.Moves, c.Lanes})
	}
	return inputs
}

// Text encodes the record with a comment. A branch may have thousands of folders: if no name needs
// quotes, it appends them without the YAML encoder, which is slow.
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

func needsQuotes(name string) bool {
	switch name {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	plain := func(c rune) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' }
	return name == "" || name[0] < 'a' || strings.ContainsFunc(name, func(c rune) bool { return !plain(c) })
}

const recordComment = "Written by Fairlead. The folders named here are its own: it replaces them as a whole."

// ReadRecord decodes a record.
func ReadRecord(data []byte) (Record, error) {
	var r Record
	if err := yaml.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("read %s: %w", RecordFile, err)
	}
	if known := NewRecord(); r.APIVersion != known.APIVersion || r.Kind != known.Kind {
		return Record{}, fmt.Errorf("read %s: it is not of apiVersion %s and kind %s", RecordFile, known.APIVersion, known.Kind)
	}
	for _, w := range r.Environments {
		if w.Advance == nil {
			continue
		}
		if err := w.Advance.Check(); err != nil {
			return Record{}, fmt.Errorf("read %s: %w", RecordFile, err)
		}
	}
	return r, nil
}

// Records caches records, because decoding takes milliseconds. It is safe for concurrent use; nil
// caches nothing.
type Records struct {
	mu    sync.Mutex
	known map[tree.ID]Record
}

const maxRecords = 32

// ReadIn reads the record in a folder; zero if there is none. An unreadable record is an
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

// Read reads a record, which must not be modified.
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
