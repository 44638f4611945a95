package giturl_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// TestSame: all spellings of one repository are one, and those of others are not.
func TestSame(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "cp.git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "cp.git"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ same, other []string }{
		"forge": {
			[]string{
				"https://github.com/acme/cp", "https://github.com/acme/cp.git", "https://github.com/acme/cp/", "https://github.com/acme/cp.git/", "https://GitHub.COM/acme/cp",
				"https://github.com/Acme/CP", "https://github.com:443/acme/cp", "http://github.com/acme/cp", "http://github.com:80/acme/cp", "https://github.com./acme/cp",
				"https://www.github.com/acme/cp", "https://user:pw@github.com/acme/cp", "https://github.com//acme//cp", "https://github.com/acme/./cp", "https://github.com/x/../acme/cp",
				"https://github.com/acme/cp?x=1", "https://github.com/acme/cp#x", "https://github.com/acme/%63p", " https://github.com/acme/cp ", "ssh://git@github.com/acme/cp.git",
				"ssh://git@github.com:22/acme/cp", "ssh://git@ssh.github.com:443/acme/cp", "git@github.com:acme/cp.git", "git@github.com:/acme/cp", "github.com:acme/cp",
			},
			[]string{"https://github.com/acme/cp2", "https://github.com/acme", "https://github.com.example.com/acme/cp", "https://gitlab.com/acme/cp"},
		},
		"port": {
			[]string{"https://h.example:8443/cp", "https://h.example:8443/CP.git", "ssh://git@h.example:2222/cp", "h.example:cp"},
			[]string{"https://other.example:8443/cp"},
		},
		"address": {
			[]string{"http://[::1]:3000/cp", "http://[0:0:0:0:0:0:0:1]:3000/cp"},
			[]string{"http://[::2]:3000/cp"},
		},
		"path": {
			[]string{
				dir + "/cp.git", dir + "/cp", dir + "/cp.git/", dir + "/./cp.git", dir + "/x/../cp.git", "file://" + dir + "/cp.git", dir + "/link", "file://" + dir + "/link",
			},
			[]string{dir + "/cp2", dir, dir + "/CP", "https://h.example" + dir + "/cp"},
		},
	} {
		for _, a := range test.same {
			for _, b := range test.same {
				if !giturl.Identify(a).Same(giturl.Identify(b)) {
					t.Errorf("%s: %q and %q are not the same", name, a, b)
				}
			}
			for _, b := range test.other {
				if giturl.Identify(a).Same(giturl.Identify(b)) {
					t.Errorf("%s: %q and %q are the same", name, a, b)
				}
			}
		}
	}
	if giturl.Identify("https://h:1/cp").Same(giturl.Identify("https://h:2/cp")) {
		t.Error("two HTTP servers of one host are the same")
	}
}
