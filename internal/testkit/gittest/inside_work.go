package gittest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// cloneSettings are those that git clone writes, of the path of the origin.
const cloneSettings = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[remote "origin"]
	url = %s
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
`

// remotes is where a clone has the branches of its origin.
const remotes = "refs/remotes/origin/"

// cloneInside makes the clone, whose folder is not there yet, as git clone does.
func (w *Work) cloneInside() error {
	if w.isLeft() {
		return errLeft
	}
	theirs, err := listReferences(w.origin.dir)
	if err != nil || theirs.head != "refs/heads/main" {
		return errLeft
	}
	for _, folder := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "refs/remotes/origin"} {
		if err := os.MkdirAll(filepath.Join(w.own.dir, folder), 0o755); err != nil {
			return err
		}
	}
	for file, text := range map[string]string{"config": w.settings(), "HEAD": "ref: " + theirs.head + "\n"} {
		if err := os.WriteFile(filepath.Join(w.own.dir, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := w.writeIndex(nil); err != nil {
		return err
	}
	if err := w.fetchInside(); err != nil {
		return err
	}
	main, born := theirs.ids[theirs.head]
	if !born {
		return nil
	}
	if err := os.WriteFile(filepath.Join(w.own.dir, remotes, "HEAD"), []byte("ref: "+remotes+"main\n"), 0o644); err != nil {
		return err
	}
	return w.checkOut("main", main)
}

func (w *Work) settings() string { return fmt.Sprintf(cloneSettings, w.origin.dir) }

// isLeft reports whether git itself must do everything.
func (w *Work) isLeft() bool {
	isIdentity := func(v string) bool {
		return strings.HasPrefix(v, "GIT_AUTHOR_") || strings.HasPrefix(v, "GIT_COMMITTER_")
	}
	return w.server.onlyGit.Load() || os.Getenv(onlyGitVariable) != "" || slices.ContainsFunc(os.Environ(), isIdentity)
}

// refreshOwn makes the clone's store read what there is now. It returns errLeft where the clone is not as
// it was made: it has other settings or hooks, or a merge goes on.
func (w *Work) refreshOwn() error {
	if w.isLeft() {
		return errLeft
	}
	config, err := os.ReadFile(filepath.Join(w.own.dir, "config"))
	if err != nil || string(config) != w.settings() {
		return errLeft
	}
	all, err := os.ReadDir(w.own.dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		switch e.Name() {
		case "HEAD", "config", "index", "objects", "refs", "logs", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG":
		default: // packed-refs among them
			return errLeft
		}
	}
	return w.own.refreshPacks()
}

// findHead returns the branch that is checked out, and its commit: zero if it has none yet.
func (w *Work) findHead() (branch string, commit objectID, err error) {
	ref, err := findReference(w.own.dir, "HEAD")
	if err != nil {
		return "", commit, err
	}
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return "", commit, errLeft
	}
	commit, err = w.readOwn(ref)
	return branch, commit, err
}

// readOwn returns the commit of a reference of the clone, which is zero if there is none.
func (w *Work) readOwn(ref string) (objectID, error) {
	text, err := os.ReadFile(filepath.Join(w.own.dir, filepath.FromSlash(ref)))
	if errors.Is(err, fs.ErrNotExist) {
		return objectID{}, nil
	}
	if err != nil {
		return objectID{}, err
	}
	return parseID(strings.TrimSpace(string(text)))
}

func (w *Work) writeOwn(ref string, id objectID) error {
	file := filepath.Join(w.own.dir, filepath.FromSlash(ref))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(id.String()+"\n"), 0o644)
}

// untidy finds what git would tidy in the message of a commit.
var untidy = regexp.MustCompile(`^\s|\s$|[ \t\r\v\f]\n|\n\n\n`)

// commitInside commits what the work tree holds.
func (w *Work) commitInside(message string, at time.Time) error {
	if message == "" || untidy.MatchString(message) {
		return errLeft
	}
	if err := w.refreshOwn(); err != nil {
		return err
	}
	branch, parent, err := w.findHead()
	if err != nil {
		return err
	}
	files := map[string]entry{}
	folder, made, err := w.readFolder("", files)
	if err != nil {
		return err
	}
	if folder == (objectID{}) { // there is no file
		empty := newTree(nil)
		folder, made = empty.id, append(made, empty)
	}
	commit := newObject(pack.Commit, formatCommit(folder, parent, at, message))
	kept := map[objectID]bool{}
	missing := slices.DeleteFunc(made, func(o object) bool {
		had := kept[o.id] || w.own.packs.Has(o.id)
		kept[o.id] = true
		return had
	})
	if err := keepObjects(w.own.dir, append(missing, commit)); err != nil {
		return err
	}
	if err := w.writeIndex(files); err != nil {
		return err
	}
	return w.writeOwn("refs/heads/"+branch, commit.id)
}

// formatCommit returns the text of a commit; one of a zero parent has none.
func formatCommit(folder, parent objectID, at time.Time, message string) []byte {
	text := fmt.Appendf(nil, "tree %s\n", folder)
	if parent != (objectID{}) {
		text = fmt.Appendf(text, "parent %s\n", parent)
	}
	return fmt.Appendf(text, "author a <a@example.com> %[1]d +0000\ncommitter a <a@example.com> %[1]d +0000\n\n%[2]s\n", at.Unix(), message)
}

func (w *Work) fetchInside() error {
	if err := w.refreshOwn(); err != nil {
		return err
	}
	theirs, err := w.listOrigin()
	if err != nil {
		return err
	}
	if err := w.linkPacks(); err != nil {
		return err
	}
	there, err := os.ReadDir(filepath.Join(w.own.dir, remotes))
	if err != nil {
		return err
	}
	for _, e := range there {
		if e.Name() == "HEAD" { // git writes it as it clones
			continue
		}
		if err := os.RemoveAll(filepath.Join(w.own.dir, remotes, e.Name())); err != nil {
			return err
		}
	}
	for ref, id := range theirs.ids {
		if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			if err := w.writeOwn(remotes+branch, id); err != nil {
				return err
			}
		}
	}
	return w.own.refreshPacks()
}

// listOrigin returns the references of the origin, all of whose objects are in packs then.
func (w *Work) listOrigin() (references, error) {
	w.origin.mu.Lock()
	defer w.origin.mu.Unlock()
	theirs, err := listReferences(w.origin.dir)
	if err != nil {
		return theirs, err
	}
	for ref := range theirs.ids {
		if strings.HasPrefix(ref, "refs/tags/") { // git takes those along that it meets
			return theirs, errLeft
		}
	}
	return theirs, w.origin.refreshPacks()
}

// linkPacks makes the clone have the packs of its origin, as git clone does on one disk.
func (w *Work) linkPacks() error {
	folder := filepath.Join(w.origin.dir, "objects/pack")
	packs, err := filepath.Glob(filepath.Join(folder, "pack-*.pack"))
	if err != nil {
		return err
	}
	for _, file := range packs {
		name := strings.TrimSuffix(filepath.Base(file), ".pack")
		for _, part := range []string{name + ".pack", name + ".idx"} {
			err := os.Link(filepath.Join(folder, part), filepath.Join(w.own.dir, "objects/pack", part))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// pullInside fetches and switches to the branch as it is at the origin.
func (w *Work) pullInside(branch string) error {
	if err := w.fetchInside(); err != nil {
		return err
	}
	id, err := w.readOwn(remotes + branch)
	if err != nil || id == (objectID{}) {
		return errLeft
	}
	return w.checkOut(branch, id)
}

// switchInside switches to a local branch, one of the origin or a new one. It is left to git what becomes of
// changes of the work tree.
func (w *Work) switchInside(branch string) error {
	if err := w.refreshOwn(); err != nil {
		return err
	}
	id, err := w.readOwn("refs/heads/" + branch)
	if err != nil {
		return err
	}
	if id == (objectID{}) {
		if err := w.fetchInside(); err != nil {
			return err
		}
		id, err = w.readOwn(remotes + branch)
		if err != nil {
			return err
		}
	}
	if id == (objectID{}) {
		return w.beginBranch(branch)
	}
	_, head, err := w.findHead()
	if err != nil {
		return err
	}
	committed, err := w.own.listFiles(head)
	if err != nil {
		return err
	}
	there := map[string]entry{}
	if _, _, err := w.readFolder("", there); err != nil || !maps.Equal(committed, there) {
		return errLeft
	}
	return w.checkOut(branch, id)
}

// beginBranch switches to a branch that has no commit and no files.
func (w *Work) beginBranch(branch string) error {
	inside, err := os.ReadDir(w.Dir)
	if err != nil {
		return err
	}
	for _, e := range inside {
		if e.Name() == ".git" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(w.Dir, e.Name())); err != nil {
			return err
		}
	}
	if err := w.writeIndex(nil); err != nil {
		return err
	}
	return w.moveHead(branch)
}

func (w *Work) moveHead(branch string) error {
	return os.WriteFile(filepath.Join(w.own.dir, "HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o644)
}

// checkOut makes the work tree that of a commit, and a branch the one that is checked out. The index is that of HEAD.
func (w *Work) checkOut(branch string, commit objectID) error {
	if w.stateOfIndex() != w.index {
		return errLeft
	}
	_, head, err := w.findHead()
	if err != nil {
		return err
	}
	before, err := w.own.listFiles(head)
	if err != nil {
		return err
	}
	after, err := w.own.listFiles(commit)
	if err != nil {
		return err
	}
	for name := range before {
		if _, stays := after[name]; !stays {
			removeFile(w.Dir, name)
		}
	}
	for name, f := range after {
		if err := w.restoreFile(name, f); err != nil {
			return err
		}
	}
	if err := w.writeIndex(after); err != nil {
		return err
	}
	if err := w.writeOwn("refs/heads/"+branch, commit); err != nil {
		return err
	}
	return w.moveHead(branch)
}

// pushInside pushes refspecs, or the current branch to the one of its name.
func (w *Work) pushInside(refspecs []string) error {
	if err := w.refreshOwn(); err != nil {
		return err
	}
	theirs, err := w.listOrigin()
	if err != nil {
		return err
	}
	var lines []byte
	var wants []objectID
	var moves []command
	for _, spec := range refspecs {
		c, err := w.parseRefspec(spec, theirs)
		if err != nil {
			return err
		}
		if c.old == c.new {
			continue
		}
		line := c.old.String() + " " + c.new.String() + " " + c.ref
		if len(moves) == 0 {
			line += "\x00report-status side-band-64k"
		}
		lines, moves = appendLine(lines, line), append(moves, c)
		if c.new != (objectID{}) {
			wants = append(wants, c.new)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	var sent []byte
	if len(wants) > 0 {
		sent, err = w.own.packMissing(wants, slices.Collect(maps.Values(theirs.ids)), noFilter)
		if err != nil {
			return err
		}
	}
	q := &question{dir: w.origin.dir, service: "git-receive-pack", body: slices.Concat(lines, flush, sent)}
	if _, ok := w.server.answerInside(q); !ok {
		return errLeft
	}
	for _, c := range moves {
		branch, ok := strings.CutPrefix(c.ref, "refs/heads/")
		switch {
		case !ok:
		case c.new == (objectID{}):
			removeFile(filepath.Join(w.own.dir, remotes), branch)
		default:
			err = errors.Join(err, w.writeOwn(remotes+branch, c.new))
		}
	}
	if err != nil {
		w.t.Fatal(err) // the origin has it: git must not push it again
	}
	return nil
}

// parseRefspec returns what a refspec means at the origin.
func (w *Work) parseRefspec(spec string, theirs references) (c command, err error) {
	spec, forced := strings.CutPrefix(spec, "+")
	from, to, hasTo := strings.Cut(spec, ":")
	branch, head, err := w.findHead()
	if err != nil {
		return c, err
	}
	isBranch := true
	switch name := strings.TrimPrefix(from, "refs/heads/"); {
	case from == "":
	case from == "HEAD":
		c.new = head
		to = cmp.Or(to, branch)
	case plumbing.IsHash(from):
		c.new, err = parseID(from)
		isBranch = false
	default:
		c.new, err = w.readOwn("refs/heads/" + name)
		to = cmp.Or(to, name)
	}
	if err != nil || from != "" && c.new == (objectID{}) || hasTo && to == "" {
		return c, errLeft
	}
	c.ref = to
	if !strings.HasPrefix(to, "refs/") {
		c.ref = "refs/heads/" + to
		if _, there := theirs.ids[c.ref]; !there && (from == "" || !isBranch) {
			return c, errLeft
		}
	}
	c.old = theirs.ids[c.ref]
	if from == "" {
		if c.old == (objectID{}) {
			return c, errLeft
		}
		return c, nil
	}
	if forced || c.old == (objectID{}) {
		return c, nil
	}
	below, err := w.own.commitsBelow([]objectID{c.new})
	if err != nil || !below[c.old] {
		return c, errLeft
	}
	return c, nil
}
