package daemon_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// live matches what looks like a credential that somebody could use.
var live = regexp.MustCompile(strings.Join([]string{
	`\bgh[pousr]_[0-9A-Za-z]{30,}`, `\bgithub_pat_[0-9A-Za-z_]{30,}`, // GitHub
	`\bglpat-[0-9A-Za-z_-]{20,}`, `\bgldt-[0-9A-Za-z_-]{20,}`, // GitLab
	`\bAKIA[0-9A-Z]{16}\b`, `\bxox[abprs]-[0-9A-Za-z-]{20,}`,
	`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{20,}`, // a JSON Web Token
	`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----(\\n|\s)+[0-9A-Za-z+/]{20,}`,
	`://[^\s/:@"']*:[^\s/@"']{16,}@`,
	`(?i)authorization: *(basic|bearer|token) [0-9A-Za-z+/=._-]{20,}`,
}, "|"))

// TestFixturesHaveNoCredentials: what is recorded for tests holds nothing that looks
// like a credential; keys are made while tests run.
func TestFixturesHaveNoCredentials(t *testing.T) {
	read := 0
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.Type().IsRegular() || !strings.Contains(filepath.ToSlash(path), "/testdata/"):
			return nil
		}
		text, err := os.ReadFile(path)
		read++
		if found := live.Find(text); found != nil {
			t.Errorf("%s has what looks like a credential: %.12s…", path, found)
		}
		return err
	})
	if err != nil || read < 100 {
		t.Errorf("%d files were read (%v)", read, err)
	}
}

// TestLive: credentials are recognized, and what tests say instead of them is not.
func TestLive(t *testing.T) {
	some := strings.Repeat("0aZ", 12)
	for text, want := range map[string]bool{
		"token: ghp_" + some: true, "github_pat_" + some: true, "glpat-" + some: true, "AKIA" + strings.Repeat("Q", 16): true,
		"-----BEGIN " + "RSA PRIVATE KEY-----\n" + some:           true,
		"eyJ" + some + ".eyJ" + some + "." + some:                 true,
		"https://robot:" + some + "@git.example.com/x":            true,
		"Authorization: Bearer " + some:                           true,
		"ghp_secret":                                              false,
		"https://git.example.com:8443/a/team/with/a/long/path@v1": false,
		"-----BEGIN RSA PRIVATE KEY----- begins it":               false,
	} {
		if got := live.MatchString(text); got != want {
			t.Errorf("that %q is a credential is said to be %v", text, got)
		}
	}
}
