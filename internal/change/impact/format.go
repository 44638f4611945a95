package impact

import (
	"bytes"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

type format int

const (
	formatOpaque   format = iota // not decoded
	formatYAML                   // Kubernetes objects, or values
	formatSettings               // KEY=value lines
)

func formatOf(c tree.Change) format {
	for _, e := range [...]tree.Entry{c.Old, c.New} {
		if e.Name != "" && e.Mode != tree.ModeFile && e.Mode != tree.ModeExecutable || len(e.Data) > maxSize || isBinary(e.Data) {
			return formatOpaque
		}
	}
	switch path.Ext(c.Path) {
	case ".yaml", ".yml", ".json":
		return formatYAML
	case ".sh", ".env", ".tfvars":
		return formatSettings
	default:
		return formatOpaque
	}
}

// hasTellingLines reports whether changed lines and their keys identify a change. Flow
// style, aliases, lists of objects, tabs and programs prevent that.
func (f format) hasTellingLines(text []byte, lines [][]byte) bool {
	if f == formatSettings {
		return !slices.ContainsFunc(lines, isProgram)
	}
	if bytes.IndexByte(text, '\t') >= 0 {
		return false
	}
	for _, mark := range [...]byte{'&', '*'} {
		if bytes.IndexByte(text, mark) >= 0 &&
			(bytes.Contains(text, []byte{':', ' ', mark}) || bytes.Contains(text, []byte{'-', ' ', mark})) {
			return false
		}
	}
	return !slices.ContainsFunc(lines, isFlowOrList)
}

func isFlowOrList(raw []byte) bool {
	switch raw[0] {
	case '{', '[', '"', '\'', '?', '%', '!':
		return true
	case 'k':
		return bytes.HasPrefix(raw, []byte("kind:")) && bytes.HasSuffix(bytes.TrimRight(raw, " \"'\r\n"), []byte("List"))
	}
	return false
}

func isProgram(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] != '#' && (bytes.IndexByte(raw, '=') < 0 || bytes.ContainsAny(raw, "(){}`\\<"))
}
