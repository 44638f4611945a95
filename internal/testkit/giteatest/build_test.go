package giteatest

import (
	"strings"
	"testing"
)

// TestCannotBuild has a machine that lacks what the build needs.
func TestCannotBuild(t *testing.T) {
	for want, set := range map[string]map[string]string{
		"SQLite needs a C compiler": {"CC": "no-such-compiler -x"},
		"module lookup disabled":    {"CC": "go", "GOPROXY": "off", "GOMODCACHE": t.TempDir()},
	} {
		t.Run(want, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			t.Setenv("FAIRLEAD_GITEA", "")
			for name, value := range set {
				t.Setenv(name, value)
			}
			_, err := buildProgram(t)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got the error %v, want one with %q", err, want)
			}
			skipped := false
			t.Run("start", func(t *testing.T) {
				defer func() { skipped = t.Skipped() }()
				Start(t)
			})
			if !skipped {
				t.Error("the test was not skipped")
			}
		})
	}
}

func TestWithout(t *testing.T) {
	got := without([]string{"A=1", "GIT_DIR=x", "GITEA_WORK_DIR=y", "PATH=z", "MY_GIT_DIR=w"}, "GIT_", "GITEA_")
	if want := "A=1 PATH=z MY_GIT_DIR=w"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
