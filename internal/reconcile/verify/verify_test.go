package verify_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/verify"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// world is a control plane with the environment dev, what is rendered of it, and a GitOps
// repository that is empty.
type world struct {
	*testing.T
	source   *source.Source
	rendered source.Rendered
	out      *git.Remote
}

func newWorld(t *testing.T) *world { return newWorldWith(t, gittest.Serve(t), nil) }

// newWorldWith returns a world on a server, whose environment has a file besides.
func newWorldWith(t *testing.T, server *gittest.Server, file []byte) *world {
	t.Helper()
	server.Create("cp")
	server.Create("out")
	branches, err := scaffold.ControlPlaneBranches(scaffold.Options{
		ControlPlane: server.URL("cp"), GitOps: server.URL("out"), Environments: []string{"dev"}, Layout: scaffold.Branches, Sample: true,
	})
	check(t, err)
	w := &world{T: t, out: newRemote(t, server, "out")}
	cp := newRemote(t, server, "cp")
	for _, b := range branches {
		if b.Name == "dev" && file != nil {
			b.Files = tree.FromEntries(append(slices.Clone(b.Files.Entries()), tree.File("stack.yaml", file)))
		}
		push(t, cp, b.Name, b.Files)
	}
	w.source, err = source.Open(t.Context(), source.Options{ControlPlane: server.URL("cp"), CacheDir: t.TempDir(), Parser: model.NewParser()})
	check(t, err)
	w.rendered, err = w.source.Render(t.Context(), "dev", source.Revisions{}, &output.Cache{})
	check(t, err)
	if w.rendered.Problems.Stops() || w.rendered.Tree.IsEmpty() {
		t.Fatalf("dev does not render: %v", w.rendered.Problems)
	}
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newRemote(t *testing.T, server *gittest.Server, name string) *git.Remote {
	t.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: server.Dir(name), Dir: filepath.Join(t.TempDir(), "mirror")})
	check(t, err)
	_, err = remote.Sync(t.Context())
	check(t, err)
	return remote
}

// push pushes files as the only commit of a new branch, and returns its id.
func push(t *testing.T, remote *git.Remote, branch string, files tree.Tree) string {
	t.Helper()
	pack, err := remote.Write(t.Context(), git.Commit{Tree: files, Message: "test\n", When: time.Unix(1_700_000_000, 0), Author: git.Signature{Name: "a", Email: "a@example.com"}})
	check(t, err)
	commit := pack.Commits[0]
	check(t, remote.Push(t.Context(), pack, git.RefUpdate{Ref: "refs/heads/" + branch, New: commit}))
	return commit
}

// written returns what the record of dev says.
func (w *world) written() publish.Written {
	written := publish.Written{Environment: "dev", Tree: w.rendered.Tree.ID().String(), From: publish.Inputs(w.rendered.Commits)}
	for _, e := range w.rendered.Tree.Entries() {
		if e.IsDir() && !strings.HasPrefix(e.Name, ".") {
			written.Folders = append(written.Folders, e.Name)
		}
	}
	return written
}

// files returns the output of dev in a folder, with its record.
func (w *world) files(folder string, written publish.Written) map[string]string {
	w.Helper()
	files := map[string]string{}
	for file, data := range w.rendered.Tree.All() {
		files[path.Join(folder, file)] = string(data)
	}
	text, err := publish.NewRecord(written).Text("test")
	check(w.T, err)
	files[path.Join(folder, publish.RecordFile)] = string(text)
	return files
}

// verify verifies a commit that holds files.
func (w *world) verify(files map[string]string) ([]verify.Result, error) {
	w.Helper()
	contents := map[string][]byte{}
	for file, text := range files {
		contents[file] = []byte(text)
	}
	held, err := tree.FromFiles(contents)
	check(w.T, err)
	commit := push(w.T, w.out, fmt.Sprintf("b-%s", held.ID()), held)
	return verify.Commit(w.Context(), w.out.Mirror(), commit, func(context.Context, string) (*source.Source, error) { return w.source, nil })
}

// aFile returns the name of the first rendered file of a cluster type.
func (w *world) aFile() string {
	for file := range w.rendered.Tree.All() {
		if !strings.HasPrefix(file, ".") && strings.Contains(file, "/") {
			return file
		}
	}
	w.Fatal("nothing was rendered for a cluster type")
	return ""
}

// TestDifferences: every change of what the record names is found, and no other.
func TestDifferences(t *testing.T) {
	w := newWorld(t)
	file := w.aFile()
	own := path.Dir(file)
	for name, c := range map[string]struct {
		change map[string]string // by path in the output; "" removes
		want   []string
	}{
		"nothing":                       {nil, []string{}},
		"a changed file":                {map[string]string{file: "changed\n"}, []string{file}},
		"a removed file":                {map[string]string{file: ""}, []string{file}},
		"a file in a folder of ours":    {map[string]string{own + "/extra.yaml": "a: 1\n"}, []string{own + "/extra.yaml"}},
		"several, sorted":               {map[string]string{own + "/zz": "z", own + "/extra.yaml": "a: 1\n"}, []string{own + "/extra.yaml", own + "/zz"}},
		"a file beside ours":            {map[string]string{"README.md": "of people\n", "team/x.yaml": "a: 1\n", ".github/x": "y"}, []string{}},
		"the promoted commit, an older": {map[string]string{output.TrackingFile: strings.Repeat("1", 40)}, []string{}},
	} {
		for _, folder := range []string{"", "clusters/dev"} {
			t.Run(path.Join(name, folder), func(t *testing.T) {
				w := &world{t, w.source, w.rendered, w.out}
				files := w.files(folder, w.written())
				for file, text := range c.change {
					files[path.Join(folder, file)] = text
				}
				maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
				results, err := w.verify(files)
				check(t, err)
				want := []verify.Result{{Environment: "dev", Folder: folder, From: w.written().From, Files: w.rendered.Tree.Count(), Different: c.want, Count: len(c.want)}}
				if diff := gocmp.Diff(want, results); diff != "" {
					t.Errorf("it differs (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestManyDifferences: all are counted, and the first are named.
func TestManyDifferences(t *testing.T) {
	w := newWorld(t)
	files := w.files("", w.written())
	for i := range verify.MaxDifferent + 50 {
		files[fmt.Sprintf("%s/extra-%03d", path.Dir(w.aFile()), i)] = "x"
	}
	results, err := w.verify(files)
	check(t, err)
	if r := results[0]; r.Count != verify.MaxDifferent+50 || len(r.Different) != verify.MaxDifferent || !slices.IsSorted(r.Different) {
		t.Errorf("%d differ, and %d are named", r.Count, len(r.Different))
	}
}

// TestSeveralOutputs: all outputs of a commit are verified, sorted by folder.
func TestSeveralOutputs(t *testing.T) {
	w := newWorld(t)
	files := w.files("b", w.written())
	maps.Copy(files, w.files("a/deep", w.written()))
	files["a/deep/"+w.aFile()] = "changed\n"
	results, err := w.verify(files)
	check(t, err)
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(r.Folder, " ", r.Count))
	}
	if diff := gocmp.Diff([]string{"a/deep 1", "b 0"}, got); diff != "" {
		t.Errorf("the results differ (-want +got):\n%s", diff)
	}
}

// TestModuleUnread: an output of a module that cannot be read now is not called different from what it should be.
func TestModuleUnread(t *testing.T) {
	server := gittest.Serve(t)
	server.Create("net")
	push(t, newRemote(t, server, "net"), "main", tree.FromEntries([]tree.Entry{tree.File("main.tf", []byte("variable \"a\" {}\n"))}))
	w := newWorldWith(t, server, fmt.Appendf(nil, `apiVersion: fairlead.io/v1alpha1
kind: StackSettings
metadata: {name: stacks}
spec: {state: {bucket: states, region: us-east-1}, follow: {modules: true}}
---
apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: shop-dev, namespace: acme-config}
spec:
  teamName: shop
  envName: dev
  components: [{name: net, type: terraform, module: {source: "git::%s?ref=main"}, variables: [{name: a, value: b}]}]
`, server.URL("net")))
	files := w.files("", w.written())
	if results, err := w.verify(files); err != nil || len(results[0].Different) > 0 {
		t.Fatalf("as it was rendered: %+v: %v", results, err)
	}
	check(t, os.RemoveAll(server.Dir("net")))
	var err error
	w.source, err = source.Open(t.Context(), source.Options{ControlPlane: server.URL("cp"), CacheDir: t.TempDir(), Parser: model.NewParser()})
	check(t, err)
	if results, err := w.verify(files); err == nil || !strings.Contains(err.Error(), "what it should be is not known: ") {
		t.Errorf("without the module: %+v: %v", results, err)
	}
}

// TestNotVerified: what cannot be rendered again is an error, and not a result.
func TestNotVerified(t *testing.T) {
	w := newWorld(t)
	input := func(layer string, change func(*publish.Input)) func(*publish.Written) {
		return func(written *publish.Written) {
			for i := range written.From {
				if written.From[i].Layer == layer {
					change(&written.From[i])
				}
			}
		}
	}
	for name, c := range map[string]struct {
		record func(*publish.Written)
		text   string // of the record, instead
		want   string
	}{
		"no record":                  {text: "-", want: verify.ErrNoRecord.Error()},
		"nothing written yet":        {record: func(r *publish.Written) { r.From = nil }, want: verify.ErrNoRecord.Error()},
		"a broken record":            {text: "kind: [", want: publish.RecordFile},
		"a record of another kind":   {text: "kind: Other\n", want: "it is not of apiVersion"},
		"an input that was a folder": {record: input("base", func(i *publish.Input) { i.Commit, i.Folder = "", "/tmp/cp" }), want: "its base was a folder, /tmp/cp"},
		"no base":                    {record: func(r *publish.Written) { r.From = r.From[1:] }, want: "does not name the commits of the base and of the environment"},
		"no environment":             {record: func(r *publish.Written) { r.From = r.From[:1] }, want: "does not name the commits of the base and of the environment"},
		"a commit that is gone":      {record: input("dev", func(i *publish.Input) { i.Commit = strings.Repeat("1", 40) }), want: strings.Repeat("1", 40)},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t, w.source, w.rendered, w.out}
			written := w.written()
			slices.SortFunc(written.From, func(a, b publish.Input) int { return strings.Compare(a.Layer, b.Layer) })
			if c.record != nil {
				c.record(&written)
			}
			files := w.files("", written)
			if c.text != "" {
				files[publish.RecordFile] = c.text
			}
			if c.text == "-" {
				delete(files, publish.RecordFile)
			}
			results, err := w.verify(files)
			if err == nil || results != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it is %v, and the error is %v, want %q", results, err, c.want)
			}
			if isNone := c.want == verify.ErrNoRecord.Error(); errors.Is(err, verify.ErrNoRecord) != isNone {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
