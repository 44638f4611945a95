package gitlab_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/forgetest"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestGitLabPublish publishes while people act between our calls.
func TestGitLabPublish(t *testing.T) {
	forgetest.RunPublish(t, func(t *testing.T) forgetest.Crowd {
		s, branch := gitLabServer(t)
		hook := &forgetest.Hook{}
		remote, err := git.NewRemote(git.RemoteOptions{URL: s.Git.URL(project), Dir: filepath.Join(t.TempDir(), "mirror")})
		check(t, err)
		return forgetest.Crowd{
			Subject: forgetest.Subject{
				Forge:  gitLab(t, s, forge.Options{Client: &http.Client{Transport: hook}}),
				Branch: branch,
				Merge:  func(number int) { s.Merge(project, number, gitlabfake.Merging{}) },
				Close:  func(number int) { s.Close(project, number) },
			},
			Hook:     hook,
			Remote:   remote,
			People:   func() forge.Forge { return gitLab(t, s, forge.Options{}) },
			Reopen:   func(number int) { s.Reopen(project, number) },
			Retarget: func(number int, base string) { s.Retarget(project, number, base) },
			Remove:   func(branch string) { gittest.Git(t, s.Git.Dir(project), "update-ref", "-d", "refs/heads/"+branch) },
		}
	}, 1)
}
