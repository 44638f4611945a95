package publish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
)

// Older is a part of an output that later waves replace.
type Older struct {
	Tree    string   `json:"tree" yaml:"tree"` // Git id of the rendered tree that the folders are from
	Folders []string `json:"folders" yaml:"folders"`
	From    []Input  `json:"from" yaml:"from"`
}

// Step is one wave of an environment: a proposal that brings some of its folders.
type Step struct {
	Head    string        // of the output branch that the proposal was made for
	Target  string        // Git id of the rendered tree that all folders will be from
	Advance *wave.Advance // after the proposal is merged; nil after the last wave
	Older   []Older
	Waves   []wave.Members
	Number  int // of the proposed wave, from 1; 0 brings back what was there before the first one
}

func (s *Step) name() string {
	if s == nil {
		return ""
	}
	if s.Number == 0 {
		return "back"
	}
	return fmt.Sprintf("%s %d/%d", s.Waves[s.Number-1].Name, s.Number, len(s.Waves))
}

// ReadWritten returns an environment's part of the record in a folder; nil if it has none.
func (m *Records) ReadWritten(folder tree.Tree, environment string) (*Written, error) {
	r, err := m.ReadIn(folder)
	for _, w := range r.Environments {
		if w.Environment == environment && len(w.From) > 0 {
			return &w, err
		}
	}
	return nil, err
}

// OlderThan returns the parts of a mixed output that are not from a target.
func (w Written) OlderThan(target, mixed tree.Tree) []Older {
	own := Older{Tree: w.Tree, From: w.From}
	older := slices.Clone(w.Older)
	for i := range older {
		older[i].Folders = nil
	}
	for _, e := range mixed.Entries() {
		if wanted, ok := target.Lookup(e.Name); isDot(e.Name) || ok && wanted.ID == e.ID {
			continue
		}
		i := slices.IndexFunc(w.Older, func(o Older) bool { return slices.Contains(o.Folders, e.Name) })
		if i < 0 {
			own.Folders = append(own.Folders, e.Name)
		} else {
			older[i].Folders = append(older[i].Folders, e.Name)
		}
	}
	return slices.DeleteFunc(append([]Older{own}, older...), func(o Older) bool { return len(o.Folders) == 0 })
}

func writeWave(b *strings.Builder, s *Step, n int) {
	if s == nil {
		return
	}
	if s.Number == 0 {
		b.WriteString("- **Back:** the cluster types get what they had before the first wave\n")
		return
	}
	current := s.Waves[s.Number-1]
	fmt.Fprintf(b, "- **Wave:** %d of %d, %s: %s\n", s.Number, len(s.Waves), codeText(current.Name), listNames(current.Folders, n))
	for _, m := range s.Waves[s.Number:] {
		fmt.Fprintf(b, "- **Later:** %s, %s: %s\n", codeText(m.Name), text.Count(len(m.Folders), "cluster type"), listNames(m.Folders, n))
	}
}
