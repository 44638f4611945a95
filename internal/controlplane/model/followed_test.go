package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFollows: what the built-in reconcilers follow, by the keys of the manifests of a target.
func TestFollows(t *testing.T) {
	for _, c := range []struct {
		manifests  map[string]string
		key, value string
	}{
		{map[string]string{"repo": "https://git.example/a", "branch": "main", "path": "."}, "branch", "main"},
		{map[string]string{"branch": "main", "tag": "v1"}, "", ""},
		{map[string]string{"branch": "main", "tag": "v1", "semver": "^1"}, "semver", "^1"},
		{map[string]string{"semver": "^1", "commit": "b9aa8b7"}, "", ""},
		{map[string]string{"url": "oci://git.example/a", "semver": "^1", "digest": "sha256:00"}, "", ""},
		{map[string]string{"chart": "web", "version": "1.2.3"}, "", ""},
		{map[string]string{"chart": "web", "version": "v1.2.3-rc.1+a"}, "", ""},
		{map[string]string{"chart": "web", "version": "1.2"}, "version", "1.2"},
		{map[string]string{"chart": "web", "version": ">=2.4.0 <3.0.0"}, "version", ">=2.4.0 <3.0.0"},
		{map[string]string{"version": "1.2", "tag": "v1"}, "", ""}, // of a package, which zarf makes
		{nil, "", ""},
	} {
		key, value := (&Target{Manifests: c.manifests}).Follows()
		if key != c.key || value != c.value {
			t.Errorf("%v follows %s %q, want %s %q", c.manifests, key, value, c.key, c.value)
		}
	}
}

// TestFollowed: registrations follow their branches for every environment, and targets what they say.
func TestFollowed(t *testing.T) {
	m := &Model{
		Registrations: []*Registration{{Object: Object{Kind: "WorkloadRegistration", Name: "shop"}, Workload: RepoRef{Repo: "https://git.example/shop", Branch: "main"}}},
		Targets: []*Target{
			{Object: Object{Kind: "DeploymentTarget", Name: "web-a"}, Manifests: map[string]string{"repo": "https://git.example/web", "branch": "dev"}},
			{Object: Object{Kind: "DeploymentTarget", Name: "api-a"}, Manifests: map[string]string{"url": "oci://git.example/api", "semver": "^1"}},
			{Object: Object{Kind: "DeploymentTarget", Name: "db-a"}, Manifests: map[string]string{"tag": "v1"}},
		},
	}
	want := []Followed{
		{Subject: "DeploymentTarget/api-a", Key: "semver", Value: "^1", Repo: "oci://git.example/api"},
		{Subject: "DeploymentTarget/web-a", Key: "branch", Value: "dev", Repo: "https://git.example/web"},
		{Subject: "WorkloadRegistration/shop", Key: "branch", Value: "main", Repo: "https://git.example/shop", IsRegistration: true},
	}
	if diff := cmp.Diff(want, m.Followed()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
