package config_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/config"
)

// TestAllowsOutput: what output.allow names is told from what it only covers.
func TestAllowsOutput(t *testing.T) {
	bounded := &config.Settings{Output: config.Output{Allow: []config.Destination{
		{Repo: "https://github.com/acme/gitops", Branches: []string{"dev", "release/*"}},
		{Repo: "https://git.example.com/teams"},
		{Repo: "/srv/git"},
	}}}
	for _, test := range []struct {
		settings                  *config.Settings
		repo, branch              string
		allowed, named, literally bool
	}{
		{&config.Settings{}, "https://example.com/any", "any", true, false, false},
		{bounded, "https://github.com/acme/gitops", "dev", true, true, true},
		{bounded, "https://GitHub.com/Acme/GitOps.git/", "dev", true, true, true},
		{bounded, "ssh://git@github.com/acme/gitops", "dev", true, true, true},
		{bounded, "git@ssh.github.com:acme/gitops.git", "release/1", true, true, false},
		{bounded, "https://github.com/acme/gitops", "main", false, false, false},
		{bounded, "https://github.com/acme/gitops", "release/1/x", false, false, false},
		{bounded, "https://github.com/acme/gitops-2", "dev", false, false, false},
		{bounded, "https://github.com/acme", "dev", false, false, false},
		{bounded, "https://github.com.example.com/acme/gitops", "dev", false, false, false},
		{bounded, "https://git.example.com/teams/a/b", "any", true, false, false},
		{bounded, "https://git.example.com/teams/../other", "any", false, false, false},
		{bounded, "https://git.example.com/teams2/a", "any", false, false, false},
		{bounded, "/srv/git/out.git", "any", true, false, false},
		{bounded, "file:///srv/git/../out.git", "any", false, false, false},
		{bounded, "/srv/git2", "any", false, false, false},
	} {
		allowed, named, literally := test.settings.AllowsOutput(test.repo, test.branch)
		if allowed != test.allowed || named != test.named || literally != test.literally {
			t.Errorf("%s of %s: allowed %v, named %v, literally %v", test.branch, test.repo, allowed, named, literally)
		}
	}
}
