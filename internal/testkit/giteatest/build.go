package giteatest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/git/lock"
)

// Version is the version of Gitea that tests run. Newer ones have changed their
// module's name, and cannot be built in this way.
const Version = "1.26.0"

const module = "code.gitea.io/gitea"

// recipe is how the program is made; with another one it is made anew.
var recipe = []string{
	"build", "-trimpath", "-tags", "sqlite sqlite_unlock_notify", "-ldflags", "-s -w -X main.Version=" + Version, "-o", "../out/gitea", ".",
}

// buildProgram returns the folder with the program and, in static, the files that it
// reads. It builds it if need be, which takes minutes.
func buildProgram(t testing.TB) (string, error) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.Join(recipe, "\n")))
	dir := filepath.Join(cache, "fairlead", fmt.Sprintf("gitea-%s-%x", Version, sum[:6]))
	if isThere(dir) {
		return dir, nil
	}
	ctx, cancel := withDeadline(t)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock.Acquire(ctx, dir+".lock")
	if err != nil {
		return "", fmt.Errorf("wait for the build of another test: %w", err)
	}
	defer unlock()
	if isThere(dir) {
		return dir, nil
	}
	t.Logf("building Gitea %s, once, into %s", Version, dir)
	if err := build(ctx, dir); err != nil {
		return "", fmt.Errorf("build Gitea %s: %w", Version, err)
	}
	return dir, nil
}

func isThere(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "gitea"))
	return err == nil
}

// withDeadline leaves the test some time to say that the build was too slow.
func withDeadline(t testing.TB) (context.Context, context.CancelFunc) {
	if of, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := of.Deadline(); ok {
			return context.WithDeadlineCause(t.Context(), end.Add(-time.Minute),
				errors.New("the test's time was too short (go test -timeout); the next run goes on where this one ended"))
		}
	}
	return context.WithCancel(t.Context())
}

// build makes the folder: in full, or not at all. Gitea's module replaces others,
// which it can do only as the main module: so it is built in a copy of it.
func build(ctx context.Context, dir string) error {
	if err := checkCompiler(ctx); err != nil {
		return err
	}
	work := dir + ".part"
	source, out := filepath.Join(work, "source"), filepath.Join(work, "out")
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := download(ctx, source); err != nil {
		return err
	}
	if _, err := run(ctx, source, recipe...); err != nil {
		return err
	}
	// The program reads these when it runs.
	for _, name := range []string{"options", "public", "templates"} {
		if err := os.CopyFS(filepath.Join(out, "static", name), os.DirFS(filepath.Join(source, name))); err != nil {
			return err
		}
	}
	return os.Rename(out, dir)
}

// download puts the source, which the module cache has without the right to write,
// into a folder.
func download(ctx context.Context, to string) error {
	said, err := run(ctx, os.TempDir(), "mod", "download", "-json", module+"@v"+Version)
	var found struct{ Dir, Error string }
	switch bad := json.Unmarshal([]byte(said), &found); {
	case found.Error != "":
		return errors.New(found.Error)
	case err != nil || bad != nil:
		return errors.Join(err, bad)
	}
	return os.CopyFS(to, os.DirFS(found.Dir))
}

// checkCompiler reports in one line what cgo would say in many.
func checkCompiler(ctx context.Context) error {
	out, err := run(ctx, os.TempDir(), "env", "CC")
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(out, " ")
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("SQLite needs a C compiler: %w", err)
	}
	return nil
}

// run runs the go command, and returns what it printed, also if it failed.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", "CGO_ENABLED=1", "GOOS=", "GOARCH=")
	c.WaitDelay = 5 * time.Second // its compilers may go on
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	printed := strings.TrimSpace(string(out))
	if err == nil {
		return printed, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return printed, cause
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	return printed, fmt.Errorf("go %s: %w: %s", args[0], err, strings.Join(lines[max(0, len(lines)-3):], "; "))
}
