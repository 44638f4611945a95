package publish

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// Adoption tells how Fairlead takes over files that no record names.
type Adoption struct {
	// Kalypso is set if Kalypso's scheduler wrote the folder: there, all folders except dot folders
	// are generated.
	Kalypso bool
	Folders []string // replaced or removed
}

// ErrBlocked is a refusal until someone changes the output branch or place.
var ErrBlocked = errors.New("blocked")

func newBlocked(hint, format string, args ...any) error {
	refusal := problem.Refusef(hint, format, args...)
	refusal.Kind = ErrBlocked
	return refusal
}

type composed struct {
	tree     tree.Tree
	same     bool // unchanged except for the record and the promoted commit
	promotes bool
	before   tree.Tree // replaced or removed content
	adoption Adoption
}

// composeFolder merges rendered into a folder: it removes recorded folders that are no longer
// rendered, replaces rendered ones, and keeps the rest byte for byte. Without a record, wasOurs
// reports whether we wrote there before; nil means no.
func composeFolder(records *Records, now tree.Tree, written Written, rendered tree.Tree, wasOurs func() (bool, error)) (composed, error) {
	now = now.Expand()
	owned, err := recordedFolders(records, now, written.Environment)
	if err != nil {
		return composed{}, err
	}
	p := &composition{owned: owned, entries: make([]tree.Entry, 0, now.Len()), replaced: make([]tree.Entry, 0, now.Len())}
	_, hasRecord := now.Lookup(RecordFile)
	p.result.adoption.Kalypso = !hasRecord && isKalypso(now)
	if p.result.adoption.Kalypso && wasOurs != nil {
		ours, err := wasOurs() // our output looks like Kalypso's, and someone may have removed the record
		if err != nil {
			return composed{}, err
		}
		p.result.adoption.Kalypso = !ours
	}
	rendered, p.result.promotes = withTracking(now, rendered)
	if err := checkNoConflict(now, rendered); err != nil {
		return composed{}, err
	}
	for old, fresh := range tree.Zip(now, rendered) {
		if err := p.placeEntry(old, fresh); err != nil {
			return composed{}, err
		}
		if fresh.Name != "" && !isDot(fresh.Name) {
			written.Folders = append(written.Folders, fresh.Name)
		}
	}
	slices.Sort(written.Folders)
	text, err := NewRecord(written).Text(recordComment)
	if err != nil {
		return composed{}, err
	}
	p.result.tree, p.result.before = withFile(tree.FromEntries(p.entries), RecordFile, text), tree.FromEntries(p.replaced)
	p.result.same = equalExcept("", now, p.result.tree, RecordFile, output.TrackingFile)
	return p.result, nil
}

type composition struct {
	result            composed
	owned             map[string]bool
	entries, replaced []tree.Entry
}

func (p *composition) placeEntry(old, fresh tree.Entry) error {
	switch {
	case isDot(old.Name) && fresh.Name != "":
		p.entries = append(p.entries, tree.Dir(old.Name, overlayFiles(old.Tree(), fresh.Tree())))
		return nil
	case !old.IsDir() || isDot(old.Name) || !p.replacesFolder(old, fresh):
		if old.Name != "" {
			p.entries = append(p.entries, old)
		}
	case old.ID != fresh.ID && holdsRecord(old.Tree(), 0):
		return newBlocked("give each environment its own branch, or its own path outside of the folders of cluster types",
			"the folder %s is the output of another environment, and would be replaced", old.Name)
	default:
		p.replaced = append(p.replaced, old)
	}
	if fresh.Name != "" {
		p.entries = append(p.entries, fresh)
	}
	return nil
}

// replacesFolder reports whether we may replace or remove a folder; it may adopt it.
func (p *composition) replacesFolder(old, fresh tree.Entry) bool {
	if p.owned[old.Name] {
		return true
	}
	// Kalypso's rule predates other environments in the branch.
	if fresh.Name == "" && (!p.result.adoption.Kalypso || holdsRecord(old.Tree(), 1)) {
		return false
	}
	p.result.adoption.Folders = append(p.result.adoption.Folders, old.Name)
	return true
}

func equalExcept(prefix string, a, b tree.Tree, files ...string) bool {
	for old, next := range tree.ZipChanged(a, b) {
		path := prefix + max(old.Name, next.Name)
		if slices.Contains(files, path) && !old.IsDir() && !next.IsDir() {
			continue
		}
		path += "/"
		holds := func(file string) bool { return strings.HasPrefix(file, path) }
		folders := old.IsDir() || next.IsDir()
		if folders && old.Tree().IsEmpty() && next.Tree().IsEmpty() { // Git stored an empty folder
			continue
		}
		if !folders || !slices.ContainsFunc(files, holds) || !equalExcept(path, old.Tree(), next.Tree(), files...) {
			return false
		}
	}
	return true
}

func isDot(name string) bool { return strings.HasPrefix(name, ".") }

func withTracking(now, rendered tree.Tree) (tree.Tree, bool) {
	next, ok := rendered.Lookup(output.TrackingFile)
	if !ok {
		return rendered, false
	}
	old, _ := now.Lookup(output.TrackingFile)
	if strings.TrimSpace(string(old.Data)) == strings.TrimSpace(string(next.Data)) {
		return withFile(rendered, output.TrackingFile, nil), false
	}
	return rendered, true
}

func checkNoConflict(now, rendered tree.Tree) error {
	var fresh []string
	taken := map[string]bool{}
	for old, next := range tree.ZipChanged(now, rendered) {
		if next.IsDir() && !old.IsDir() && !isDot(next.Name) {
			fresh = append(fresh, next.Name)
		}
		if old.Name != "" && !old.IsDir() {
			taken[old.Name] = true
		}
	}
	for _, name := range fresh {
		if taken[name] {
			return newBlocked("remove or rename one of them", "there is a file %s where the folder of a cluster type is to be", name)
		}
	}
	files := []string{RecordFile}
	for _, e := range rendered.Entries() {
		if !isDot(e.Name) {
			continue
		}
		for file := range e.Tree().Walk() {
			files = append(files, e.Name+"/"+file)
		}
	}
	for _, file := range files {
		if err := checkFolder(now, path.Dir(file)); err != nil {
			return err
		}
		if e, ok := now.Lookup(file); ok && e.IsDir() {
			return newBlocked("remove or rename it", "there is a folder %s where a file is to be", file)
		}
	}
	return nil
}

func checkFolder(t tree.Tree, folder string) error {
	for i, c := range folder + "/" {
		if c != '/' {
			continue
		}
		if e, ok := t.Lookup(folder[:i]); ok && !e.IsDir() {
			return newBlocked("remove or rename it", "there is a file %s where a folder is to be", folder[:i])
		}
	}
	return nil
}

func holdsRecord(t tree.Tree, deeper int) bool {
	if _, ok := t.Lookup(RecordFile); ok {
		return true
	}
	return deeper > 0 && slices.ContainsFunc(t.Entries(), func(e tree.Entry) bool { return holdsRecord(e.Tree(), deeper-1) })
}

func recordedFolders(records *Records, now tree.Tree, environment string) (map[string]bool, error) {
	owned := map[string]bool{}
	r, err := records.ReadIn(now)
	for _, w := range r.Environments {
		if w.Environment != environment {
			return nil, newBlocked("give each environment its own branch or path; if the other one is gone, remove the file",
				"%s says that this is the output of environment %s", RecordFile, w.Environment)
		}
		for _, name := range w.Folders {
			owned[name] = !isDot(name)
		}
	}
	return owned, err
}

func isKalypso(t tree.Tree) bool {
	if _, ok := t.Lookup(output.TrackingFile); ok {
		return true
	}
	for _, e := range t.Entries() {
		if readme, ok := e.Tree().Lookup("README.md"); ok && strings.TrimSpace(string(readme.Data)) == output.ReadmeText {
			return true
		}
	}
	return false
}

func overlayFiles(below, above tree.Tree) tree.Tree {
	var entries []tree.Entry
	for _, e := range above.Entries() {
		if old, ok := below.Lookup(e.Name); ok && e.IsDir() {
			e = tree.Dir(e.Name, overlayFiles(old.Tree(), e.Tree()))
		}
		entries = append(entries, e)
	}
	rest := removeEntries(below, func(e tree.Entry) bool { _, ok := above.Lookup(e.Name); return ok })
	return tree.FromEntries(append(entries, rest.Entries()...))
}

func removeEntries(t tree.Tree, goes func(tree.Entry) bool) tree.Tree {
	rest := slices.DeleteFunc(slices.Clone(t.Entries()), goes)
	if len(rest) == t.Len() {
		return t
	}
	return tree.FromEntries(rest)
}

func withoutDotFolders(t tree.Tree) tree.Tree {
	return removeEntries(t, func(e tree.Entry) bool { return isDot(e.Name) })
}

// CompareFolders compares an environment's folder, without Fairlead's own files.
func CompareFolders(before, after tree.Tree, opt impact.Options) impact.Report {
	return impact.Compare(withoutDotFolders(before), withoutDotFolders(after), opt)
}

func withFile(t tree.Tree, file string, data []byte) tree.Tree {
	folder, name := path.Split(file)
	held := t.Sub(folder)
	if _, ok := held.Lookup(name); !ok && data == nil {
		return t
	}
	entries := held.EntriesExcept(name)
	if data != nil {
		entries = append(entries, tree.File(name, data))
	}
	return replaceFolder(t, folder, tree.FromEntries(entries))
}

// withoutMetadata removes files that change even if nothing else does.
func withoutMetadata(t tree.Tree) tree.Tree {
	return withFile(withFile(t, RecordFile, nil), output.TrackingFile, nil)
}

func replaceFolder(t tree.Tree, folder string, with tree.Tree) tree.Tree {
	folder = CleanFolder(folder)
	if folder == "" {
		return with
	}
	name, rest, _ := strings.Cut(folder, "/")
	return tree.FromEntries(append(t.EntriesExcept(name), tree.Dir(name, replaceFolder(t.Sub(name), rest, with))))
}

// CleanFolder returns the path form of trees: "" for the root.
func CleanFolder(folder string) string { return strings.Trim(path.Clean("/"+folder), "/") }
