package loop_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// ways are what happens to a file or folder of a mirror.
var ways = map[string]func(path string) error{
	"removed":   os.RemoveAll,
	"empty":     func(path string) error { return errors.Join(os.Chmod(path, 0o644), os.Truncate(path, 0)) },
	"half":      func(path string) error { return rewrite(path, func(b []byte) []byte { return b[:len(b)/2] }) },
	"one byte":  func(path string) error { return rewrite(path, flip) },
	"a folder":  func(path string) error { return errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o755)) },
	"no folder": func(path string) error { return errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o644)) },
}

func flip(text []byte) []byte {
	if len(text) > 0 {
		text[len(text)/2] ^= 0x41
	}
	return text
}

func rewrite(path string, change func([]byte) []byte) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, change(text), 0o644))
}

// TestMirrorsDamaged damages files of mirrors between the cycles of one loop: the next change is
// proposed within two cycles, or the report names the damage and it is in the third; and nothing says that a server cannot be reached, which it can.
// What may happen to the files themselves is drilled in package git.
func TestMirrorsDamaged(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	d.cycle()
	people := w.writer("cp", "dev")
	n := 0
	for _, repo := range []string{"cp", "out"} {
		for _, damage := range []struct{ files, way string }{
			{"HEAD", "removed"}, {"config", "empty"}, {"refs/heads/dev", "removed"}, {"refs/heads/dev", "half"}, {"refs/heads/dev", "a folder"},
			{"objects/pack/*.pack", "removed"}, {"objects/pack/*.pack", "half"}, {"objects/pack/*.pack", "one byte"}, {"objects/pack/*.pack", "a folder"},
			{"objects/pack/*.idx", "removed"}, {"objects/pack/*.idx", "empty"}, {"objects/pack/*.idx", "one byte"},
			{"objects/pack", "removed"}, {"objects", "no folder"}, {"refs", "no folder"}, {".", "removed"}, {".", "no folder"},
		} {
			mirror := filepath.Join(w.data, "git", giturl.FolderName(w.server.URL(repo)))
			files, err := filepath.Glob(filepath.Join(mirror, damage.files))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s has no %s (%v)", mirror, damage.files, err)
			}
			for _, file := range files {
				if err := ways[damage.way](file); err != nil {
					t.Fatal(err)
				}
			}
			logged, said := len(w.logs.String()), ""
			n++
			people.write("build.yaml", buildValue(n))
			cycles := 0
			proposed := func() bool { return d.state("dev").State == status.Proposed && w.has("out", "dev", n) }
			for ; cycles < 3 && !proposed(); cycles++ {
				d.now = d.now.Add(time.Hour)
				if cycles == 2 && !strings.Contains(said, "what was stored cannot be read") {
					t.Errorf("%s, %s %s: after two cycles it says %q, which does not name the damage", repo, damage.files, damage.way, said)
				}
				said = fmt.Sprint(d.Cycle(t.Context()), d.state("dev").Error)
			}
			log := w.logs.String()[logged:]
			if s := d.state("dev"); !proposed() {
				t.Errorf("%s, %s %s: dev is %s (%s) after %d cycles, and the log says\n%s", repo, damage.files, damage.way, s.State, s.Reason, cycles, log)
			}
			if strings.Contains(log, "cannot be reached") {
				t.Errorf("%s, %s %s: the log says\n%s", repo, damage.files, damage.way, log)
			}
		}
	}
}
