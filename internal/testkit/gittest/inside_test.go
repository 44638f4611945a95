package gittest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// twoServers are one that answers by itself and one that has git answer, and a work tree for
// each; what is done is done to both.
type twoServers struct {
	*testing.T
	here, git *Server
	trees     [2]string
}

func serveTwo(t *testing.T) *twoServers {
	w := &twoServers{T: t, here: Serve(t), git: ServeGit(t)}
	w.here.onlyGit.Store(false)
	for i, s := range []*Server{w.here, w.git} {
		w.trees[i] = t.TempDir()
		Git(t, w.trees[i], "clone", "-q", s.URL(editedTwice(t, s)), ".")
	}
	return w
}

// editedTwice makes a repository with two branches, one of which has a merge, and folders.
func editedTwice(t *testing.T, s *Server) string {
	s.Create("cp")
	w := s.Work(t, "cp")
	for n, text := range []string{"one\n", "two\n", "three\n"} {
		w.Write("a/b.yaml", text)
		w.Write("a/c/"+text[:3]+".yaml", strings.Repeat(text, 50*(n+1)))
		w.Commit(text)
		w.Push("HEAD:refs/heads/main")
	}
	Git(t, w.Dir, "checkout", "-q", "-b", "dev", "HEAD~1")
	w.Write("d.yaml", "dev\n")
	w.Commit("dev")
	Git(t, w.Dir, "merge", "-q", "--no-edit", "main")
	w.Push("dev")
	return "cp"
}

// TestInside: what is answered in this process is what git answers: lists of references to the
// byte, and of a fetch the same objects.
func TestInside(t *testing.T) {
	w := serveTwo(t)
	refs := Refs(t, w.here.Dir("cp"))
	equal(t, "references of both", refs, Refs(t, w.git.Dir("cp")))
	main, dev := refs["refs/heads/main"], refs["refs/heads/dev"]
	first := Git(t, w.here.Dir("cp"), "rev-parse", main+"~1")
	folder := Git(t, w.here.Dir("cp"), "rev-parse", dev+":a")
	file := Git(t, w.here.Dir("cp"), "rev-parse", dev+":d.yaml")
	const none = "1111111111111111111111111111111111111111"
	two := func(command string, args ...string) []byte {
		body := slices.Concat(appendLine(nil, "command="+command+"\n"), appendLine(nil, "agent=x\n"), delimiter)
		for _, arg := range args {
			body = appendLine(body, arg+"\n")
		}
		return append(body, flush...)
	}
	zero := func(haves ...string) []byte {
		body := append(appendLine(nil, "want "+dev+" side-band-64k ofs-delta no-progress agent=x\n"), flush...)
		for _, have := range haves {
			body = appendLine(body, "have "+have+"\n")
		}
		return appendLine(body, "done\n")
	}
	for name, q := range map[string]question{
		"upload, 0":        {service: "git-upload-pack", refs: true},
		"receive, 0":       {service: "git-receive-pack", refs: true},
		"receive, 2":       {service: "git-receive-pack", protocol: "version=2", refs: true},
		"capabilities":     {service: "git-upload-pack", protocol: "version=2", refs: true},
		"list":             {service: "git-upload-pack", protocol: "version=2", body: two("ls-refs", "peel", "symrefs", "unborn")},
		"list of prefixes": {service: "git-upload-pack", protocol: "version=2", body: two("ls-refs", "symrefs", "ref-prefix HEAD", "ref-prefix refs/heads/d")},
		"all":              {service: "git-upload-pack", protocol: "version=2", body: two("fetch", "no-progress", "want "+dev, "done")},
		"with haves":       {service: "git-upload-pack", protocol: "version=2", body: two("fetch", "no-progress", "want "+dev, "have "+first, "have "+none, "done")},
		"what is there":    {service: "git-upload-pack", protocol: "version=2", body: two("fetch", "no-progress", "want "+first, "have "+main, "done")},
		"commits":          {service: "git-upload-pack", protocol: "version=2", body: two("fetch", "no-progress", "filter tree:0", "want "+dev, "want "+main, "done")},
		"no files":         {service: "git-upload-pack", protocol: "version=2", body: two("fetch", "no-progress", "filter blob:none", "want "+dev, "have "+first, "done")},
		"a folder":         {service: "git-upload-pack", protocol: "version=2", body: two("fetch", "no-progress", "want "+folder, "done")},
		"a folder alone":   {service: "git-upload-pack", protocol: "version=2", body: two("fetch", "no-progress", "filter tree:0", "want "+folder, "want "+file, "done")},
		"all, 0":           {service: "git-upload-pack", body: zero()},
		"with haves, 0":    {service: "git-upload-pack", body: zero(first, none, main)},
		"unknown haves, 0": {service: "git-upload-pack", body: zero(none)},
	} {
		q.dir = w.here.Dir("cp")
		want, err := w.here.askGit(&q)
		if err != nil {
			t.Fatal(err)
		}
		learnCapabilities(&q, want.body)
		got, ok := w.here.answerInside(&q)
		if !ok {
			t.Errorf("%s: it is left to git", name)
			continue
		}
		equal(t, name+": header", got.header, want.header)
		gotText, gotPack := split(t, got.body)
		wantText, wantPack := split(t, want.body)
		equal(t, name, gotText, wantText)
		equal(t, name+": objects", objectsOf(t, gotPack), objectsOf(t, wantPack))
	}
}

// split returns the lines of an answer, and the pack in it.
func split(t *testing.T, body []byte) (lines []string, sent []byte) {
	t.Helper()
	in := pktline.NewScanner(bytes.NewReader(body))
	for in.Scan() {
		switch line := in.Bytes(); {
		case len(line) > 0 && line[0] == 1:
			sent = append(sent, line[1:]...)
		case len(line) > 0 && line[0] == 2: // what git says of its progress
		default:
			lines = append(lines, string(line))
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return lines, sent
}

func objectsOf(t *testing.T, sent []byte) (ids []string) {
	t.Helper()
	if sent == nil {
		return nil
	}
	all, err := decodePack(sent, func(objectID) (object, error) { return object{}, errLeft })
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		ids = append(ids, o.id.String())
	}
	slices.Sort(ids)
	return ids
}

// TestInsidePushes: pushes end as they do with git, and what was kept is whole.
func TestInsidePushes(t *testing.T) {
	w := serveTwo(t)
	change := func(text string) {
		for _, dir := range w.trees {
			if err := os.WriteFile(filepath.Join(dir, "a", "b.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			Git(t, dir, "commit", "-qam", text)
		}
	}
	for _, step := range []struct {
		name   string
		inside bool // it is answered without git
		args   []string
	}{
		{"a new branch", true, []string{"HEAD:refs/heads/new/one"}},
		{"a commit", true, []string{"HEAD"}},
		{"two at once", true, []string{"--atomic", "HEAD:refs/heads/new/two", "HEAD:refs/heads/dev2"}},
		{"set back", true, []string{"+HEAD~2:refs/heads/new/two"}},
		{"removed", true, []string{":refs/heads/new/two"}},
		{"removed and made", true, []string{":refs/heads/new/one", "HEAD:refs/fairlead/pulls/1"}},
		{"a file in place of a folder", true, []string{"HEAD:refs/heads/new"}},
		{"a folder in place of a file", false, []string{"HEAD:refs/heads/new/three"}},
		{"the branch of HEAD", false, []string{":refs/heads/main"}},
		{"a tag", false, []string{"v1"}},
	} {
		change(step.name)
		said := [2]string{}
		before := w.here.inside.Load()
		for i, dir := range w.trees {
			if step.name == "a tag" {
				Git(t, dir, "tag", "-a", "-m", "x", "v1")
			}
			_, err := attempt(dir, nil, "", append([]string{"push", "-q", "origin"}, step.args...)...)
			if err != nil {
				said[i] = strings.ReplaceAll(err.Error(), []*Server{w.here, w.git}[i].http.URL, "")
			}
		}
		equal(t, step.name+": what git says", said[0], said[1])
		equal(t, step.name+": references", Refs(t, w.here.Dir("cp")), Refs(t, w.git.Dir("cp")))
		if answered := w.here.inside.Load() - before; step.inside != (answered >= 2) {
			t.Errorf("%s: %d questions were answered without git", step.name, answered)
		}
		Git(t, w.here.Dir("cp"), "fsck", "--strict", "--no-dangling")
	}
	equal(t, "objects", Git(t, w.here.Dir("cp"), "rev-list", "--objects", "--all"), Git(t, w.git.Dir("cp"), "rev-list", "--objects", "--all"))
	equal(t, "questions that the other server answered", w.git.inside.Load(), int64(0))
}

// TestInsideLeaves: a push that git would refuse is left to it, and changes nothing.
func TestInsideLeaves(t *testing.T) {
	w := serveTwo(t)
	dir := w.here.Dir("cp")
	o := w.here.storeOf(dir)
	head, dev := Refs(t, dir)["refs/heads/main"], Refs(t, dir)["refs/heads/dev"]
	folder := Git(t, dir, "rev-parse", "main^{tree}")
	commit := func(folder, parent string) object {
		text := "tree " + folder + "\nparent " + parent + "\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n"
		return object{objectID(plumbing.ComputeHash(plumbing.CommitObject, []byte(text))), pack.Commit, []byte(text)}
	}
	none := strings.Repeat("0", 40)
	const all = "report-status side-band-64k agent=x"
	sound, missing := commit(folder, head), commit(strings.Repeat("1", 40), head)
	for name, test := range map[string]struct {
		object   object
		old, ref string
		wants    string
	}{
		"a folder that is not there":      {missing, head, "refs/heads/main", all},
		"a parent that is not there":      {commit(folder, strings.Repeat("1", 40)), head, "refs/heads/main", all},
		"another old value":               {sound, dev, "refs/heads/main", all},
		"new, and there":                  {sound, none, "refs/heads/main", all},
		"old, and not there":              {sound, head, "refs/heads/other", all},
		"not a reference":                 {sound, none, "refs/heads/a..b", all},
		"not below refs":                  {sound, none, "main", all},
		"without a report":                {sound, head, "refs/heads/main", "side-band-64k"},
		"options":                         {sound, head, "refs/heads/main", all + " push-options"},
		"a reference that is being moved": {sound, dev, "refs/heads/dev", all},
	} {
		if strings.Contains(name, "being moved") {
			if err := os.WriteFile(filepath.Join(dir, "refs/heads/dev.lock"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := Refs(t, dir)
		sent, _, err := encodePack([]object{test.object})
		if err != nil {
			t.Fatal(err)
		}
		body := appendLine(nil, test.old+" "+test.object.id.String()+" "+test.ref+"\x00"+test.wants)
		q := &question{dir: dir, service: "git-receive-pack", body: slices.Concat(body, flush, sent)}
		if _, ok := w.here.answerInside(q); ok {
			t.Errorf("%s: it was taken", name)
		}
		if strings.Contains(name, "being moved") {
			if err := os.Remove(filepath.Join(dir, "refs/heads/dev.lock")); err != nil {
				t.Errorf("the lock of another is gone: %v", err)
			}
		}
		equal(t, name+": references", Refs(t, dir), before)
		if left, err := filepath.Glob(filepath.Join(dir, "refs/*/*.lock")); err != nil || len(left) > 0 {
			t.Errorf("%s: locks are left: %v %v", name, left, err)
		}
		if err := o.refreshPacks(); err != nil || o.packs.Has(test.object.id) {
			t.Errorf("%s: the objects were kept (%v)", name, err)
		}
	}
}
