package git_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPushMoved pushes to the old address of a repository, from which a server sends
// everybody to the new one, in the words that keep a request and in those that do not.
func TestPushMoved(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			server := gittest.ServeGit(t)
			base := strings.TrimSuffix(server.Create("out"), "/out.git")
			old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				http.Redirect(w, req, base+strings.TrimPrefix(req.URL.RequestURI(), "/old"), status)
			}))
			defer old.Close()
			r := remoteOf(t, old.URL+"/old/out.git", func(o *git.RemoteOptions) { o.IsTrusted = func(string) bool { return true } })
			id, err := push(t, r, "main", "", commitOf(treeOf(t, map[string]string{"a": "b"})))
			if err != nil {
				t.Fatal(err)
			}
			if got := gittest.Git(t, server.Dir("out"), "rev-parse", "main"); got != id {
				t.Errorf("the branch is at %s, not at %s", got, id)
			}
		})
	}
}
