package config_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/config"
)

// TestNames: what the settings name is told from what people write into the control plane.
func TestNames(t *testing.T) {
	remote := &config.Settings{
		ControlPlane: config.ControlPlane{Repo: "https://127.0.0.1:3000/acme/cp"},
		Map:          map[string]string{"https://a.example/x": "http://localhost:4000/x", "https://b.example/x": "/srv/mapped"},
		Remotes:      []config.Remote{{URL: "ssh://git@git.local:2222/"}},
		Forges:       []config.Forge{{Host: "tea.local:3001"}},
		Output:       config.Output{Allow: []config.Destination{{Repo: "https://out.local/gitops"}}},
		Network:      config.Network{Allow: []string{"[::1]:5000", "any.local", "/srv/allowed"}},
	}
	local := &config.Settings{ControlPlane: config.ControlPlane{Repo: "/srv/fleet/cp.git"}}
	for _, test := range []struct {
		settings *config.Settings
		place    string
		want     bool
	}{
		{remote, "https://127.0.0.1:3000/other/app", true},
		{remote, "https://127.0.0.1:3001/other/app", false},
		{remote, "https://127.0.0.1/other/app", false},
		{remote, "https://localhost:3000/other/app", false},
		{remote, "http://LOCALHOST:4000/y", true},
		{remote, "ssh://x@git.local:2222/y", true},
		{remote, "git@git.local:y", false},
		{remote, "http://tea.local:3001/y", true},
		{remote, "https://out.local:443/y", true},
		{remote, "http://[::1]:5000/y", true},
		{remote, "http://[::1]:5001/y", false},
		{remote, "http://any.local:1234/y", true},
		{remote, "http://not-any.local/y", false},
		{remote, "http://169.254.169.254/latest", false},
		{remote, "/srv/mapped", true},
		{remote, "/srv/allowed/x", true},
		{remote, "/srv/allowed/../x", false},
		{remote, "/etc", false},
		{remote, "file:///etc", false},
		{remote, "file://localhost/etc", false},
		{remote, "/", false},
		{local, "/srv/fleet/out.git", true},
		{local, "file:///srv/fleet/apps/a", true},
		{local, "/srv/fleet/../other", false},
		{local, "/etc", false},
		{local, "http://127.0.0.1:80/x", false},
	} {
		if got := test.settings.NamesRepository(test.place); got != test.want {
			t.Errorf("%s: %v", test.place, got)
		}
	}
}
