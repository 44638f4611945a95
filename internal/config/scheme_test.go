package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/config"
)

// TestMissingScheme: wherever a URL belongs, one without its scheme is a problem at its line, with the
// URL that was meant; a folder of that name is none.
func TestMissingScheme(t *testing.T) {
	const begin = "controlPlane: {repo: https://git.example.com/team/fleet}\ndataDir: /srv/data\n"
	for text, hint := range map[string]string{
		"output: {allow: [{repo: git.example.com/team/out}]}":                          "write https://git.example.com/team/out, or ./git.example.com/team/out for a folder",
		"output: {allow: [{repo: 'localhost:3000/team/out'}]}":                         "write http://localhost:3000/team/out, or ./localhost:3000/team/out for a folder",
		"map: {'https://git.example.com/a': git.example.com/b}":                        "write https://git.example.com/b, or ./git.example.com/b for a folder",
		"map: {git.example.com/a: /srv/a}":                                             "write https://git.example.com/a",
		"remotes: [{url: git.example.com/team, token: {env: TOKEN}}]":                  "write https://git.example.com/team",
		"remotes: [{url: git.example.com, token: {env: TOKEN}}]":                       "write https://git.example.com",
		"remotes: [{url: 'localhost:3000/team', token: {env: TOKEN}}]":                 "write http://localhost:3000/team",
		"forges: [{host: git.example.com, kind: gitlab, api: git.example.com/api/v4}]": "write https://git.example.com/api/v4",
		"forges: [{host: 'https://git.example.com', kind: gitlab}]":                    "write it without https:// and without a path",
		"probes: [{url: metrics.example.com/api}]":                                     "write https://metrics.example.com/api",
		"hosts: ['https://fairlead.example.com']":                                      "write the name alone, as in fairlead.example.com",
	} {
		_, problems := config.Parse("fairlead.yaml", []byte(begin+text+"\n"), t.TempDir(), func(string) string { return "secret" })
		p, stops := problems.FirstStopping()
		if n, _ := problems.Count(); !stops || n != 1 || p.Pos.Line != 3 || p.Hint != hint {
			t.Errorf("%s: the problems are %v, want one with the hint %q at line 3", text, problems, hint)
		}
	}
	dir := t.TempDir()
	text := strings.Replace(begin, "https://git.example.com/team/fleet", "git.example.com/team/fleet", 1)
	_, problems := config.Parse("fairlead.yaml", []byte(text), dir, os.Getenv)
	if p, stops := problems.FirstStopping(); !stops || p.Pos.Line != 1 || !strings.Contains(p.Hint, "write https://git.example.com/team/fleet") {
		t.Errorf("of the control plane the problems are %v", problems)
	}
	if err := os.MkdirAll(filepath.Join(dir, "git.example.com/team/fleet"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, problems := config.Parse("fairlead.yaml", []byte(text), dir, os.Getenv)
	if problems.Stops() || s.ControlPlane.Repo != filepath.Join(dir, "git.example.com/team/fleet") {
		t.Errorf("of a folder the problems are %v", problems)
	}
}
