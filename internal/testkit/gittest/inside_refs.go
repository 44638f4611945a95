package gittest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// references are those of a repository.
type references struct {
	head   string // the reference that HEAD names
	ids    map[string]objectID
	packed map[string]bool // it is in packed-refs
}

// listReferences reads all references of a repository.
func listReferences(dir string) (references, error) {
	all := references{ids: map[string]objectID{}, packed: map[string]bool{}}
	head, err := os.ReadFile(filepath.Join(dir, "HEAD"))
	if err != nil {
		return all, err
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
	if !ok {
		return all, errLeft
	}
	all.head = target
	text, err := os.ReadFile(filepath.Join(dir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, err
	}
	for line := range strings.Lines(string(text)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && line[0] != '#' {
			all.ids[name], all.packed[name] = objectID(plumbing.NewHash(id)), true
		}
	}
	return all, all.addFiles(dir)
}

func (r references) addFiles(dir string) error {
	return filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		id := strings.TrimSpace(string(text))
		if !plumbing.IsHash(id) {
			return errLeft
		}
		name, err := filepath.Rel(dir, path)
		r.ids[filepath.ToSlash(name)] = objectID(plumbing.NewHash(id))
		return err
	})
}

// listCommits returns the references of the repository, all of which must name commits that it has:
// of tags git tells more.
func (o *store) listCommits() (references, error) {
	all, err := listReferences(o.dir)
	if err != nil {
		return all, err
	}
	for _, id := range all.ids {
		if l, err := o.linksOf(id); err != nil || l.kind != pack.Commit {
			return all, errLeft
		}
	}
	return all, nil
}

// capabilities is what git says of itself: by service, in the first line of a list of references, with symrefMark for
// the branch that HEAD names; and in the answer of git upload-pack by version 2 of the protocol.
var capabilities = struct {
	sync.Mutex
	of       map[string]string
	version2 []byte
}{of: map[string]string{}}

// tellCapabilities answers a question for the capabilities by version 2 of the protocol.
func tellCapabilities() ([]byte, error) {
	capabilities.Lock()
	defer capabilities.Unlock()
	if capabilities.version2 == nil {
		return nil, errLeft
	}
	return capabilities.version2, nil
}

const (
	symref     = "symref=HEAD:"
	symrefMark = "\x00"
)

// learnCapabilities notes down what git says of itself in an answer.
func learnCapabilities(q *question, body []byte) {
	if q.refs && q.protocol == "version=2" && q.service == "git-upload-pack" {
		capabilities.Lock()
		defer capabilities.Unlock()
		capabilities.version2 = body
		return
	}
	_, rest, err := cutLines(body) // "# service=…"
	if err != nil || !q.refs || q.protocol != "" {
		return
	}
	lines, _, err := cutLines(rest)
	if err != nil || len(lines) == 0 {
		return
	}
	_, text, _ := strings.Cut(strings.TrimSuffix(lines[0], "\n"), "\x00")
	words := strings.Split(text, " ")
	hasHead := false
	for i, word := range words {
		if strings.HasPrefix(word, symref) {
			words[i], hasHead = symref+symrefMark, true
		}
	}
	if q.service == "git-upload-pack" && !hasHead { // HEAD names no commit
		return
	}
	capabilities.Lock()
	defer capabilities.Unlock()
	capabilities.of[q.service] = strings.Join(words, " ")
}

// advertiseReferences answers a question for all references by version 0 of the protocol.
func (o *store) advertiseReferences(service string) ([]byte, error) {
	capabilities.Lock()
	text, known := capabilities.of[service]
	capabilities.Unlock()
	all, err := o.listCommits()
	if err != nil || !known {
		return nil, errLeft
	}
	lines := all.formatLines(service == "git-upload-pack")
	if len(lines) == 0 && service == "git-upload-pack" { // it depends on the version of git
		return nil, errLeft
	}
	if len(lines) == 0 {
		lines = []string{objectID{}.String() + " capabilities^{}"}
	}
	if _, born := all.ids[all.head]; !born {
		text = strings.ReplaceAll(text, " "+symref+symrefMark, "")
	}
	var body []byte
	for i, line := range lines {
		if i == 0 {
			line += "\x00" + strings.ReplaceAll(text, symrefMark, all.head)
		}
		body = appendLine(body, line+"\n")
	}
	return append(body, flush...), nil
}

// formatLines returns each reference as git lists it, and HEAD first if it is asked for and names a commit.
func (r references) formatLines(withHead bool) (lines []string) {
	if id, born := r.ids[r.head]; withHead && born {
		lines = append(lines, id.String()+" HEAD")
	}
	for _, name := range slices.Sorted(maps.Keys(r.ids)) {
		lines = append(lines, r.ids[name].String()+" "+name)
	}
	return lines
}

// listReferences answers ls-refs of version 2 of the protocol.
func (o *store) listReferences(body []byte) ([]byte, error) {
	_, rest, err := cutLines(body)
	if err != nil {
		return nil, err
	}
	args, _, err := cutLines(rest)
	if err != nil {
		return nil, err
	}
	all, err := o.listCommits()
	if err != nil {
		return nil, err
	}
	var prefixes []string
	symrefs := false
	for _, arg := range args {
		switch arg = strings.TrimSuffix(arg, "\n"); {
		case arg == "symrefs":
			symrefs = true
		case strings.HasPrefix(arg, "ref-prefix "):
			prefixes = append(prefixes, strings.TrimPrefix(arg, "ref-prefix "))
		case arg != "peel" && arg != "unborn":
			return nil, errLeft
		}
	}
	if _, born := all.ids[all.head]; !born { // git may tell which it will be
		return nil, errLeft
	}
	var told []byte
	for i, line := range all.formatLines(true) {
		_, name, _ := strings.Cut(line, " ")
		if prefixes != nil && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		if i == 0 && symrefs {
			line += " symref-target:" + all.head
		}
		told = appendLine(told, line+"\n")
	}
	return append(told, flush...), nil
}
