package gitname_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
)

// TestCheckBranch compares with git check-ref-format, which is looser in nothing but
// what the comment of unsafeBranch names.
func TestCheckBranch(t *testing.T) {
	for name, fine := range map[string]bool{
		"main": true, "feature/x": true, "x.y": true, "ü": true, "a@b": true,
		"": false, "@": false, "-x": false, "x.lock": false, "x.lock/y": false, "a..b": false, "a@{b": false,
		"/x": false, "x/": false, "a//b": false, "x.": false, ".x": false, "a/.b": false, "a b": false,
		"a~1": false, "a^": false, "a:b": false, "a?": false, "a*": false, "a[b": false, `a\b`: false,
		"a\x00": false, "a\n": false, "a\x7f": false, "HEAD": false, "refs/heads/x": false, "heads/x": false,
		"\xff": false, "a\u0085b": false, strings.Repeat("x", 300): false,
	} {
		if err := gitname.CheckBranch(name); (err == nil) != fine {
			t.Errorf("CheckBranch(%q) is %v", name, err)
		}
		if strings.Contains(name, "\x00") || !fine {
			continue
		}
		if out, err := exec.Command("git", "check-ref-format", "--branch", name).CombinedOutput(); err != nil {
			t.Errorf("%q is fine here, but not for Git: %s", name, out)
		}
	}
}

func TestCheckFolder(t *testing.T) {
	for folder, fine := range map[string]bool{
		"": true, ".": true, "./": true, "./a/b": true, "/a/b/": true, "a/../b": true, ".github/x": true, "...": true, "git": true, "a.git": true,
		"..": false, "../x": false, "a/../../x": false, ".git": false, "a/.GIT/b": false, ".git ": false, ".git.": false, ".git . .": false,
		"git~1": false, "GIT~1/x": false, ".git:x": false, ".git::$INDEX_ALLOCATION": false, ".g\u200cit": false, "\ufeff.git": false,
		`a\b`: false, "a\x00": false, "a\nb": false, "a\x7f": false, "\xff": false, "a/\u0085": false,
	} {
		if err := gitname.CheckFolder(folder); (err == nil) != fine {
			t.Errorf("CheckFolder(%q) is %v", folder, err)
		}
	}
}

func TestIsFolder(t *testing.T) {
	for name, fine := range map[string]bool{
		"edge": true, "a.b": true, "Edge_1": true, "": false, ".": false, "..": false, ".git": false, ".github": false, ".fairlead": false, "a/b": false, "a\x00": false,
	} {
		if gitname.IsFolder(name) != fine {
			t.Errorf("IsFolder(%q) is %t", name, !fine)
		}
	}
}

// FuzzNames asks Git about every name that is taken here.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"main", "a/b", "x.lock", "-x", "a..b", "@{", ".git", "git~1", "a\x01", "ü", "a.", "~"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		gitname.IsFolder(name)
		if gitname.CheckFolder(name) == nil && strings.EqualFold(strings.Trim(name, "./"), "git") && strings.Contains(name, ".git") {
			t.Errorf("%q is taken", name)
		}
		if gitname.CheckBranch(name) != nil {
			return
		}
		if out, err := exec.Command("git", "check-ref-format", "--branch", name).CombinedOutput(); err != nil {
			t.Errorf("%q is fine here, but not for Git: %s", name, out)
		}
	})
}
