package gitea_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/forgetest"
	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
)

// everyRequest is how many requests there are for one that an act comes before: as many as there
// are acts, so that one comes before each request. The stand-ins of the other forges show every act
// before every request; this shows how a real server takes them.
const everyRequest = 5

// TestGiteaPublish publishes to a real server while people act between our calls.
func TestGiteaPublish(t *testing.T) {
	server := giteatest.Share(t)
	token := server.UserToken("fairlead")
	var repos atomic.Int64
	forgetest.RunPublish(t, func(t *testing.T) forgetest.Crowd {
		s := server.In(t)
		repo := fmt.Sprintf("acme/publish-%d", repos.Add(1))
		s.Create(repo)
		s.Join(repo, "fairlead")
		hook := &forgetest.Hook{}
		remote, err := git.NewRemote(git.RemoteOptions{URL: s.Remote(repo), Dir: filepath.Join(t.TempDir(), "mirror")})
		check(t, err)
		return forgetest.Crowd{
			Subject: forgetest.Subject{
				Forge:  connect(t, s.URL, repo, token, forge.Options{Client: &http.Client{Transport: hook}}),
				Branch: brancher(t, s.Remote(repo)),
				Merge:  func(number int) { s.Merge(repo, number) },
				Close:  func(number int) { s.SetOpen(repo, number, false) },
				Until:  s.Until,
			},
			Hook:     hook,
			Remote:   remote,
			People:   func() forge.Forge { return connect(t, s.URL, repo, token, forge.Options{}) },
			Reopen:   func(number int) { s.SetOpen(repo, number, true) },
			Retarget: func(number int, base string) { s.Retarget(repo, number, base) },
			Remove:   func(branch string) { s.RemoveBranch(repo, branch) },
		}
	}, everyRequest, "update", "merge")
}
