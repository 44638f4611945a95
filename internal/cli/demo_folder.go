package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
)

// demoFolder is the folder that the demo works in.
type demoFolder string

// The files of the demo, beside the two bare repositories.
const (
	demoClone      = "control-plane" // the clone that the user works in
	demoLogFile    = "daemon.log"
	demoStepsFile  = "steps.txt"
	demoSecretFile = "ledger-secret"
)

// demoInterval is short, so that changes show at once.
const demoInterval = time.Second

// demoSettings is added to the settings of the daemon. Fairlead merges all pull requests itself.
const demoSettings = `
merge: {%s}

ledger:
  # What the keys of the clusters are derived from: fairlead fleet token NAME prints them.
  secret: {file: %q}
`

func (f demoFolder) path(name ...string) string {
	return filepath.Join(append([]string{string(f)}, name...)...)
}

// create fills the folder: with a sample for three environments, or a stack for one.
func (f demoFolder) create(ctx context.Context, listen string, stack bool) error {
	o := scaffold.Options{ControlPlane: f.path("control-plane.git"), GitOps: f.path("gitops.git"), Sample: !stack, Environments: []string{"dev", "stage", "prod"}}
	if stack {
		o.Environments = []string{stackEnvironment}
	}
	d := scaffold.Daemon{DataDir: f.path("data"), Listen: listen, Interval: demoInterval, Write: true}
	if err := createRepositories(ctx, o, string(f), d, nil); err != nil {
		return err
	}
	secret := rand.Text() + rand.Text()
	if err := os.WriteFile(f.path(demoSecretFile), []byte(secret+"\n"), 0o600); err != nil {
		return err
	}
	settings, err := os.OpenFile(f.path(defaultSettingsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	merge := list.Convert(o.Environments, func(name string) string { return name + ": direct" })
	_, err = fmt.Fprintf(settings, demoSettings, strings.Join(merge, ", "), f.path(demoSecretFile))
	if closing := settings.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	err = f.cloneControlPlane(ctx)
	if err == nil && stack {
		err = os.Mkdir(f.path(stackFolder), 0o755)
	}
	return err
}

// recordAddress replaces listen in the settings by the address that the daemon has, which is another one
// where any port would do, so that commands find the daemon.
func (f demoFolder) recordAddress(listen, address string) error {
	file := f.path(defaultSettingsFile)
	settings, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	settings = bytes.Replace(settings, fmt.Appendf(nil, "\nlisten: %q\n", listen), fmt.Appendf(nil, "\nlisten: %q\n", address), 1)
	return os.WriteFile(file, settings, 0o644)
}

// cloneControlPlane makes the clone that the user works in, with the settings in it, and a folder with
// this program under its own name. Nothing in the user's configuration of Git gets in the way: no
// hooks, no signatures, no editor.
func (f demoFolder) cloneControlPlane(ctx context.Context) error {
	args := []string{"clone", "--quiet", "--template="}
	for _, setting := range []string{
		"user.name=Demo", "user.email=demo@localhost", "commit.gpgSign=false", "push.gpgSign=false", "push.default=simple", "pull.rebase=true",
		"core.autocrlf=false", "core.hooksPath=" + os.DevNull,
	} {
		args = append(args, "--config", setting)
	}
	if _, err := runGit(ctx, nil, append(args, f.path("control-plane.git"), f.path(demoClone))...); err != nil {
		return err
	}
	if err := os.MkdirAll(f.path(demoClone, ".git", "info"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(f.path(demoClone, ".git", "info", "exclude"), []byte("/"+defaultSettingsFile+"\n*.bak\n"), 0o644); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join("..", defaultSettingsFile), f.path(demoClone, defaultSettingsFile)); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Mkdir(f.path("bin"), 0o755); err != nil {
		return err
	}
	return os.Symlink(program, f.path("bin", "fairlead"))
}

// demoValue is the value that the first change adds for the whole fleet.
const demoValue = "  GREETING: welcome\n"

// pushChange commits a change to the base, pushes it, and returns the commit.
func (f demoFolder) pushChange(ctx context.Context) (string, error) {
	clone := f.path(demoClone)
	file, err := os.OpenFile(filepath.Join(clone, "configs", "fleet.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(demoValue)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{{"commit", "--quiet", "--all", "--message", "Greet with welcome"}, {"push", "--quiet"}} {
		if _, err := runGit(ctx, nil, append([]string{"-C", clone}, args...)...); err != nil {
			return "", err
		}
	}
	return runGit(ctx, nil, "-C", clone, "rev-parse", "HEAD")
}
