package git_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// gitOps is a repository with many folders, of which the last commit changes one.
func gitOps(t *testing.T, server *gittest.Server) (url string, work *gittest.Work) {
	t.Helper()
	url = server.Create("out")
	work = server.Work(t, "out")
	work.Switch("main")
	for i := range 6 {
		for j := range 4 {
			work.Write(fmt.Sprintf("type-%d/target-%d/values.yaml", i, j), fmt.Sprintf("type: %d\ntarget: %d\n", i, j))
			work.Write(fmt.Sprintf("type-%d/target-%d/same.yaml", i, j), "same\n")
		}
		work.Write(fmt.Sprintf("type-%d/README.md", i), "Ours.\n")
	}
	work.Write("README.md", "All.\n")
	work.Commit("all")
	work.Push("main")
	work.Write("type-3/target-2/values.yaml", "changed\n")
	work.Commit("change")
	work.Push("main", "main:refs/tags/v1")
	return url, work
}

func partially(o *git.RemoteOptions) { o.Partial = true }

// stored returns how many objects of each kind are in the mirror of a remote.
func stored(t *testing.T, dir string) string {
	t.Helper()
	kinds := map[string]int{}
	for line := range strings.Lines(gittest.Git(t, dir, "cat-file", "--batch-all-objects", "--batch-check")) {
		kinds[strings.Fields(line)[1]]++
	}
	return fmt.Sprintf("%d commits, %d folders, %d files", kinds["commit"], kinds["tree"], kinds["blob"])
}

// content returns what a commit holds, as the mirror has it.
func content(t *testing.T, r *git.Remote, commit string) map[string]string {
	t.Helper()
	view, err := r.Mirror().View(commit)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Prefetch(context.Background(), view.Tree, tree.Tree{}, 0); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for path, data := range view.Tree.All() {
		all[path] = string(data)
	}
	if err := view.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLadder makes a mirror from servers that allow less and less.
func TestLadder(t *testing.T) {
	whole := "2 commits, 34 folders, 28 files"
	for _, c := range []struct {
		name     string
		settings []string
		fault    gittest.Fault
		version0 bool
		told     string // which filters the remote was told of
		want     string
	}{
		{name: "all filters", told: "tree:0", want: "2 commits, 0 folders, 0 files"},
		{name: "folders to a depth", settings: []string{"uploadpackfilter.tree.maxDepth", "0"}, told: "tree:0", want: "2 commits, 0 folders, 0 files"},
		{name: "no filter of folders", settings: []string{"uploadpackfilter.tree.allow", "false"}, told: "tree:0,,blob:none", want: "2 commits, 34 folders, 0 files"},
		{name: "only a filter of large files", settings: []string{"uploadpackfilter.allow", "false"}, told: "tree:0,,blob:none,", want: whole},
		{name: "no filter", settings: []string{"uploadpack.allowFilter", "false"}, want: whole},
		{name: "only objects that references lead to", settings: []string{"uploadpack.allowAnySHA1InWant", "false"}, told: "tree:0", want: "2 commits, 0 folders, 0 files"},
		{name: "version 0 only", version0: true, told: "tree:0,,blob:none,", want: whole},
		{name: "it breaks", fault: gittest.Fault{Service: "git-upload-pack", Method: http.MethodPost, Times: 2, Reset: true}, told: "tree:0,,blob:none,", want: whole},
		{name: "it is cut off", fault: gittest.Fault{Service: "git-upload-pack", Method: http.MethodPost, Times: 2, CutAfter: 100}, told: "tree:0,,blob:none,", want: whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := gittest.ServeGit(t)
			url, work := gitOps(t, server)
			if c.settings != nil {
				gittest.Git(t, server.Dir("out"), "config", c.settings[0], c.settings[1])
			}
			if c.version0 {
				url = withoutVersion(t, url)
			}
			if c.fault.Times > 0 {
				server.Inject("out", c.fault)
			}
			var told []string
			dir := filepath.Join(t.TempDir(), "mirror")
			r := remoteOf(t, url, partially, func(o *git.RemoteOptions) {
				o.Dir = dir
				o.OnFilter = func(filter string) { told = append(told, filter) }
			})
			if got := strings.Join(told, ","); got != c.told {
				t.Errorf("the filters are %q, want %q", got, c.told)
			}
			if got := stored(t, dir); got != c.want {
				t.Errorf("the mirror has %s, want %s", got, c.want)
			}
			head := gittest.Git(t, work.Dir, "rev-parse", "HEAD")
			for _, commit := range []string{head, gittest.Git(t, work.Dir, "rev-parse", "HEAD~1")} {
				if diff := cmp.Diff(gittest.Files(t, work.Dir, commit), content(t, r, commit)); diff != "" {
					t.Error(diff)
				}
			}
			if id, err := r.Mirror().Resolve("v1"); err != nil || id != head {
				t.Errorf("v1 is %s (%v), want %s", id, err, head)
			}
			gittest.Git(t, dir, "fsck", "--strict", "--connectivity-only")
			gittest.Git(t, dir, "archive", "--format=tar", "-o", os.DevNull, "main") // Git fetches what is not there
		})
	}
}

// withoutVersion returns the URL of a server that does not know of versions of the protocol.
func withoutVersion(t *testing.T, url string) string {
	t.Helper()
	at, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&neturl.URL{Scheme: at.Scheme, Host: at.Host})
		r.Out.Header.Del("Git-Protocol")
	}}
	s := httptest.NewServer(pass)
	t.Cleanup(s.Close)
	return s.URL + at.Path
}
