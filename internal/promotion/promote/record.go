package promote

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// RecordFile is where Kalypso's workflows write the promoted commit of an environment.
const RecordFile = "base-repo.yaml"

// mainRepo is the name of the BaseRepo whose commit counts (Kalypso takes no other).
const mainRepo = "main"

// NewRecord returns the text of a new record, as Kalypso's cd.yaml writes it.
func NewRecord(repo, branch, commit string) []byte {
	return fmt.Appendf(nil, "apiVersion: %s\nkind: BaseRepo\nmetadata:\n  name: %s\nspec:\n  repo: %s\n  branch: %s\n  path: .\n  commit: %s\n",
		model.APIVersion, mainRepo, yamlScalar(repo), yamlScalar(branch), yamlScalar(commit))
}

func yamlScalar(text string) string {
	out, err := yaml.Marshal(text)
	if err != nil || bytes.Count(out, []byte("\n")) > 1 {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// ErrNoRecord is the error for a file that has no BaseRepo named main.
var ErrNoRecord = errors.New("the file has no BaseRepo named main")

// SetCommit returns the text of a file with another commit in its BaseRepo named main. All else
// stays byte for byte, comments too.
func SetCommit(text []byte, commit string) ([]byte, error) {
	had, r, err := findRecord(text)
	switch {
	case err != nil:
		return nil, err
	case r.commit != nil && had == commit:
		return text, nil
	case r.spec.Style&yaml.FlowStyle != 0 && r.commit == nil:
		return nil, errors.New("spec of the BaseRepo main is written in braces and has no commit; write it in lines")
	}
	lines := splitLines(text)
	if r.commit == nil {
		lines = insertCommit(lines, r, commit)
	} else {
		lines, err = replaceScalar(lines, r.commit, commit)
	}
	if err != nil {
		return nil, err
	}
	changed := bytes.Join(lines, nil)
	if got, err := RecordedCommit(changed); err != nil || got != commit {
		return nil, errors.New("spec of the BaseRepo main is written so that its commit cannot be replaced; write it in lines of its own")
	}
	return changed, nil
}

// RecordedCommit returns the commit in a file's BaseRepo named main, as it is written even where
// YAML sees a number; "" if it has none.
func RecordedCommit(text []byte) (string, error) {
	commit, _, err := findRecord(text)
	return commit, err
}

// record is where in a file a commit is written, or should be.
type record struct {
	key, spec *yaml.Node // the key of the mapping, and the mapping
	commit    *yaml.Node // nil if there is none
}

func findRecord(text []byte) (string, record, error) {
	documents, err := yamldoc.Parse(text)
	for _, document := range documents {
		root := yamldoc.RootOf(document)
		if yamldoc.FindText(root, "kind") == "BaseRepo" && yamldoc.FindText(root, "metadata", "name") == mainRepo {
			return readRecord(root)
		}
	}
	if err == nil {
		err = ErrNoRecord
	}
	return "", record{}, err
}

func readRecord(object *yaml.Node) (string, record, error) {
	var r record
	r.key, r.spec = yamldoc.FindPair(object, "spec")
	if r.spec == nil || r.spec.Kind != yaml.MappingNode || len(r.spec.Content) == 0 {
		return "", record{}, errors.New("spec of the BaseRepo main is not a mapping with fields")
	}
	var key *yaml.Node
	key, r.commit = yamldoc.FindPair(r.spec, "commit")
	switch {
	case r.commit == nil:
		return "", r, nil
	case r.commit.Kind != yaml.ScalarNode || r.commit.Anchor != "":
		return "", record{}, errors.New("spec.commit of the BaseRepo main is not a plain text")
	case isDuplicateKey(r.spec, key):
		return "", record{}, errors.New("spec of the BaseRepo main has a commit twice; remove one of them")
	case r.commit.ShortTag() == "!!null":
		return "", r, nil
	}
	return r.commit.Value, r, nil
}

func isDuplicateKey(n, key *yaml.Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i] != key && n.Content[i].Value == key.Value {
			return true
		}
	}
	return false
}

// splitLines cuts a text where YAML counts lines, and keeps their ends.
func splitLines(text []byte) [][]byte {
	var lines [][]byte
	for len(text) > 0 {
		end := len(text)
		if i := bytes.IndexAny(text, "\r\n\u0085\u2028\u2029"); i >= 0 {
			_, size := utf8.DecodeRune(text[i:])
			end = i + size
			if bytes.HasPrefix(text[i:], []byte("\r\n")) {
				end++
			}
		}
		lines, text = append(lines, text[:end]), text[end:]
	}
	return lines
}

var errNotFound = errors.New("spec.commit of the BaseRepo main cannot be found in its line; write it as commit: and the id")

func replaceScalar(lines [][]byte, n *yaml.Node, text string) ([][]byte, error) {
	if n.Line > len(lines) {
		return nil, errNotFound
	}
	line := lines[n.Line-1]
	begin, length, err := scalarExtent(line, n)
	if err != nil {
		return nil, err
	}
	value := yamlScalar(text)
	if length == 0 && !bytes.HasSuffix(line[:begin], []byte(" ")) {
		value = " " + value
	}
	lines[n.Line-1] = slices.Concat(line[:begin], []byte(value), line[begin+length:])
	return lines, nil
}

func scalarExtent(line []byte, n *yaml.Node) (begin, length int, err error) {
	begin = columnOffset(line, n.Column)
	written := n.Value
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 0, 0, errors.New("spec.commit of the BaseRepo main is a block of lines; write it in one")
	case n.Style&yaml.SingleQuotedStyle != 0:
		written = "'" + strings.ReplaceAll(written, "'", "''") + "'"
	case n.Style&yaml.DoubleQuotedStyle != 0:
		written = `"` + written + `"`
	}
	if !bytes.HasPrefix(line[begin:], []byte(written)) {
		return 0, 0, errNotFound
	}
	return begin, len(written), nil
}

func columnOffset(line []byte, column int) int {
	at := 0
	for ; column > 1 && at < len(line); column-- {
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	return at
}

func insertCommit(lines [][]byte, r record, commit string) [][]byte {
	line := lines[min(r.key.Line, len(lines))-1]
	end := "\n"
	if bytes.HasSuffix(line, []byte("\r\n")) {
		end = "\r\n"
	}
	added := strings.Repeat(" ", r.spec.Content[0].Column-1) + "commit: " + yamlScalar(commit) + end
	return slices.Insert(lines, min(r.key.Line, len(lines)), []byte(added))
}
