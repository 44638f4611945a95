package giturl_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

func TestGuessRepositoryURL(t *testing.T) {
	for location, want := range map[string]string{
		"git.example.com/team/fleet":      "https://git.example.com/team/fleet",
		"github.com/acme/fleet.git":       "https://github.com/acme/fleet.git",
		"localhost:3000/team/fleet":       "http://localhost:3000/team/fleet",
		"localhost/team/fleet":            "http://localhost/team/fleet",
		"10.1.2.3/team/fleet":             "https://10.1.2.3/team/fleet",
		"git.example.com:8080/team/fleet": "http://git.example.com:8080/team/fleet",
		"gitea:3000/team/fleet":           "http://gitea:3000/team/fleet",

		"https://git.example.com/team/fleet":     "",
		"git@git.example.com:team/fleet":         "",
		"git.example.com:team/fleet":             "", // SSH
		"ssh://git@git.example.com:22/team":      "",
		"fleet":                                  "",
		"control-plane.git":                      "",
		"./git.example.com/team":                 "",
		"../control-plane.git":                   "",
		"/srv/git/fleet.git":                     "",
		"work/control-plane":                     "",
		"1.2/fleet":                              "",
		"file:///srv/git.example.com/team/fleet": "",
	} {
		if got := giturl.GuessRepositoryURL(location); got != want {
			t.Errorf("%s: %q, want %q", location, got, want)
		}
	}
}
