package github_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/forgetest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestGitHubPublish publishes while people act between our calls.
func TestGitHubPublish(t *testing.T) {
	forgetest.RunPublish(t, func(t *testing.T) forgetest.Crowd {
		s, branch := gitHubServer(t)
		hook := &forgetest.Hook{}
		remote, err := git.NewRemote(git.RemoteOptions{URL: s.Git.URL(repo), Dir: filepath.Join(t.TempDir(), "mirror")})
		check(t, err)
		return forgetest.Crowd{
			Subject:  subjectOf(t, s, branch, gitHub(t, s, forge.Options{Client: &http.Client{Transport: hook}})),
			Hook:     hook,
			Remote:   remote,
			People:   func() forge.Forge { return gitHub(t, s, forge.Options{}) },
			Reopen:   func(number int) { s.SetOpen(repo, number, true) },
			Retarget: func(number int, base string) { s.Retarget(repo, number, base) },
			Remove:   func(branch string) { gittest.Git(t, s.Git.Dir(repo), "update-ref", "-d", "refs/heads/"+branch) },
		}
	}, 1)
}
