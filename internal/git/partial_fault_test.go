package git_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPartialBadGateway: a proxy that once has no answer does not make a mirror fetch
// everything from then on.
func TestPartialBadGateway(t *testing.T) {
	for _, what := range []string{"fetch", "read"} {
		t.Run(what, func(t *testing.T) {
			r, dir, server, work := partialMirror(t)
			if what == "fetch" {
				work.Write("x", "1")
				work.Commit("x")
				work.Push("main")
			}
			server.Inject("out", gittest.Fault{Service: "git-upload-pack", Method: http.MethodPost, Times: 1, Status: http.StatusBadGateway})
			if what == "read" {
				v := views(t, r, head(t, r))[0]
				if v.Tree.Entries(); v.Err() == nil {
					t.Error("what could not be read is not said")
				}
			}
			var err error
			for range 3 {
				_, err = r.Sync(context.Background())
			}
			text, failed := os.ReadFile(filepath.Join(dir, "config"))
			if err != nil || failed != nil || !strings.Contains(string(text), "partialclonefilter = tree:0") {
				t.Errorf("after one 502 the mirror is (%v, %v)\n%s", err, failed, text)
			}
		})
	}
}

// TestInspectTreesUnreachable: what cannot be read of one of several trees is an error, and
// is not taken for absent.
func TestInspectTreesUnreachable(t *testing.T) {
	r, _, server, work := partialMirror(t)
	work.Write("type-1/target-1/values.yaml", "other\n")
	work.Commit("another change")
	work.Push("main")
	before := head(t, r)
	if _, err := r.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := head(t, r)
	countFiles := func(trees []tree.Tree) (n int, _ error) {
		for _, t := range trees {
			for range t.All() {
				n++
			}
		}
		return n, nil
	}
	for _, read := range []string{"", after} { // what is here already, so that only the other one fails
		if read != "" {
			if _, err := git.InspectTrees(r.Mirror(), []string{read}, countFiles); err != nil {
				t.Fatal(err)
			}
		}
		remove := server.Inject("out", gittest.Fault{Service: "git-upload-pack", Method: http.MethodPost, Status: http.StatusBadGateway})
		for _, commits := range [][]string{{before, after}, {after, before}} {
			n, err := git.InspectTrees(r.Mirror(), commits, countFiles)
			if !errors.Is(err, git.ErrUnreachable) || n != 0 {
				t.Errorf("of %v, while %q is here: %d files, %v, want ErrUnreachable", commits, read, n, err)
			}
		}
		remove()
	}
	n, err := git.InspectTrees(r.Mirror(), []string{before, after}, countFiles)
	if err != nil || n == 0 {
		t.Errorf("%d files, %v", n, err)
	}
}

// TestPrefetchRepeated: folders that hold one folder eight times, level by level, are gone
// through once; there are a billion ways through them.
func TestPrefetchRepeated(t *testing.T) {
	server := gittest.ServeGit(t)
	url, _ := gitOps(t, server)
	repeated := tree.FromEntries([]tree.Entry{tree.File("f", []byte("x"))})
	for range 10 {
		var entries []tree.Entry
		for i := range 8 {
			entries = append(entries, tree.Dir(fmt.Sprintf("d%d", i), repeated))
		}
		repeated = tree.FromEntries(entries)
	}
	filler := remoteOf(t, url)
	id, err := push(t, filler, "repeated", "", commitOf(repeated))
	if err != nil {
		t.Fatal(err)
	}
	r := remoteOf(t, url, partially, func(o *git.RemoteOptions) { o.Dir = filepath.Join(t.TempDir(), "partial") })
	limited, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.Prefetch(limited, views(t, r, id)[0].Tree, tree.Tree{}, 0); err != nil {
		t.Fatal(err)
	}
	if limited.Err() != nil {
		t.Error("it took more than a minute")
	}
}
