package impact

import (
	"bytes"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/tree"
)

// compareSettings compares files of KEY=value lines.
func compareSettings(base string, f tree.Change) (changes []change) {
	old, ok := readSettings(f.Old.Data)
	new, ok2 := readSettings(f.New.Data)
	if !ok || !ok2 {
		return []change{{op: opaque, kind: base, text: "not only KEY=value lines"}}
	}
	for _, key := range old.keys {
		was, is := old.values[key], new.values[key]
		if is == nil || is.Value != was.Value {
			changes = append(changes, change{kind: base, path: []string{key}, old: was, new: is})
		}
	}
	for _, key := range new.keys {
		if old.values[key] == nil {
			changes = append(changes, change{kind: base, path: []string{key}, new: new.values[key]})
		}
	}
	return changes
}

type settings struct {
	keys   []string // each once, in the order of the text
	values map[string]*yaml.Node
}

var settingLine = regexp.MustCompile(`^(?:export )?\s*([A-Za-z_][\w.-]*)\s*=\s*(.*)$`)

// readSettings reads KEY=value lines. It is not ok if there is anything else
// than such lines and comments.
func readSettings(text []byte) (s settings, ok bool) {
	s.values = map[string]*yaml.Node{}
	for raw := range bytes.Lines(text) {
		l := strings.TrimSpace(string(raw))
		if l == "" || l[0] == '#' {
			continue
		}
		m := settingLine.FindStringSubmatch(l)
		if m == nil || !isClosed(m[2]) {
			return settings{}, false
		}
		if s.values[m[1]] == nil {
			s.keys = append(s.keys, m[1])
		}
		s.values[m[1]] = &yaml.Node{Kind: yaml.ScalarNode, Value: m[2]}
	}
	return s, true
}

// isClosed reports whether a value ends on its line.
func isClosed(value string) bool {
	quotes := strings.Count(value, `"`)%2 + strings.Count(value, "'")%2
	return quotes == 0 && !strings.ContainsAny(value[max(0, len(value)-1):], `\{[(`) && !strings.Contains(value, "<<")
}
