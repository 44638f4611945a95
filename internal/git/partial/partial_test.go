package partial_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
	"github.com/fairlead-io/fairlead/internal/git/partial"
	"github.com/fairlead-io/fairlead/internal/git/protocol"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestFilter writes filters to the settings of a real mirror, and has Git read them.
func TestFilter(t *testing.T) {
	server := gittest.ServeGit(t)
	dir := filepath.Join(t.TempDir(), "mirror")
	if got := partial.ReadFilter(dir); got != partial.NoFilter {
		t.Errorf("the filter of no mirror is %q", got)
	}
	if err := objects.InitMirror(dir, server.Create("r")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{partial.NoTrees, partial.NoBlobs, partial.NoBlobs} {
		if err := partial.WriteFilter(dir, filter); err != nil {
			t.Fatal(err)
		}
		if got := partial.ReadFilter(dir); got != filter {
			t.Errorf("the filter is %q, want %q", got, filter)
		}
		if got := gittest.Git(t, dir, "config", "--get-all", "remote.origin.partialclonefilter"); got != filter {
			t.Errorf("Git reads the filter %q, want %q", got, filter)
		}
		if got := gittest.Git(t, dir, "config", "extensions.partialClone"); got != "origin" {
			t.Errorf("Git reads the remote %q", got)
		}
	}
	if err := partial.WriteFilter(dir, partial.NoFilter); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil || string(after) != string(before) || partial.ReadFilter(dir) != partial.NoFilter {
		t.Errorf("the settings of a mirror that is whole again are %s (%v)", after, err)
	}
}

// TestMarkPromisor has Git accept a mirror that lacks objects.
func TestMarkPromisor(t *testing.T) {
	server := gittest.ServeGit(t)
	url := server.Create("r")
	work := server.Work(t, "r")
	work.Switch("main")
	work.Write("a.txt", "a\n")
	head := work.Commit("first")
	work.Push("main")
	dir := filepath.Join(t.TempDir(), "mirror")
	if err := objects.InitMirror(dir, url); err != nil {
		t.Fatal(err)
	}
	packs := filepath.Join(dir, "objects", "pack")
	listed := strings.Fields(gittest.Git(t, work.Dir, "rev-list", "--objects", "--filter=blob:none", "main"))
	gittest.Git(t, work.Dir, "config", "uploadpack.allowFilter", "true")
	gittest.Git(t, dir, "-c", "protocol.version=2", "fetch", "-q", "--filter=blob:none", url, "main") // Git marks its own pack
	for _, promisor := range must(filepath.Glob(filepath.Join(packs, "*.promisor")))(t) {
		if err := os.Remove(promisor); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Git(t, dir, "update-ref", "refs/heads/main", head)
	if err := partial.WriteFilter(dir, partial.NoBlobs); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := partial.MarkPromisor(packs); err != nil {
			t.Fatal(err)
		}
	}
	found, marked := must(filepath.Glob(filepath.Join(packs, "*.pack")))(t), must(filepath.Glob(filepath.Join(packs, "*.promisor")))(t)
	if len(found) == 0 || len(found) != len(marked) {
		t.Errorf("of %d packs %d are marked", len(found), len(marked))
	}
	gittest.Git(t, dir, "fsck", "--strict")
	if got := gittest.Git(t, dir, "rev-list", "--objects", "--missing=print", "main"); strings.Count(got, "\n?") != 1 || len(listed) < 2 {
		t.Errorf("Git lists %s", got)
	}
}

func must(found []string, err error) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
}

func newID(n int) tree.ID { return tree.HashBlob(fmt.Append(nil, n)) }

// TestFetchObjects asks a server that sends a part of what it is asked for.
func TestFetchObjects(t *testing.T) {
	for _, c := range []struct {
		name     string
		missing  int
		send     int // at most so many a request
		kind     pack.Kind
		requests []string
		err      error
	}{
		{name: "nothing", requests: nil},
		{name: "all at once", missing: 3, send: 3, kind: pack.Tree, requests: []string{"3 tree:0"}},
		{name: "files need no filter", missing: 2, send: 2, kind: pack.Blob, requests: []string{"2 "}},
		{name: "a part at a time", missing: 3, send: 2, kind: pack.Tree, requests: []string{"3 tree:0", "1 tree:0"}},
		{name: "requests of bounded size", missing: 9_000, send: 9_000, kind: pack.Blob, requests: []string{"4000 ", "4000 ", "1000 "}},
		{name: "none comes", missing: 2, kind: pack.Tree, requests: []string{"2 tree:0"}, err: protocol.ErrMissingObject},
	} {
		t.Run(c.name, func(t *testing.T) {
			lacking := map[tree.ID]bool{}
			var order []tree.ID
			for i := range c.missing {
				lacking[newID(i)] = true
				order = append(order, newID(i))
			}
			lacks := func() []tree.ID {
				return slices.DeleteFunc(slices.Clone(order), func(id tree.ID) bool { return !lacking[id] })
			}
			var requests []string
			fetch := partial.Fetcher(func(_ context.Context, w protocol.FetchRequest, _ func(io.Reader) error) error {
				requests = append(requests, fmt.Sprintf("%d %s", len(w.Wants), w.Filter))
				for _, id := range w.Wants[:min(len(w.Wants), c.send)] {
					delete(lacking, tree.ID(id))
				}
				return nil
			})
			err := fetch.FetchObjects(t.Context(), c.kind, partial.NoTrees, lacks, nil)
			if !errors.Is(err, c.err) {
				t.Errorf("the error is %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.requests, requests); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFetchCommits fetches some commits whole.
func TestFetchCommits(t *testing.T) {
	var requests []string
	fetch := partial.Fetcher(func(_ context.Context, w protocol.FetchRequest, _ func(io.Reader) error) error {
		requests = append(requests, fmt.Sprintf("%d %d %s", len(w.Wants), len(w.Haves), w.Filter))
		return nil
	})
	ids := partial.UniqueHashes([]plumbing.Hash{{1}, {2}, {1}, {3}})
	w := protocol.FetchRequest{Wants: ids, Haves: []plumbing.Hash{{9}}, Filter: partial.NoTrees}
	if err := fetch.FetchCommits(t.Context(), w, func(id plumbing.Hash) bool { return id[0] == 3 }, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2 1 tree:0", "1 1 "}, requests); diff != "" {
		t.Error(diff)
	}
}
