package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
)

type demoFolder string

const (
	demoClone      = "control-plane" // the user's clone
	demoLogFile    = "daemon.log"
	demoStepsFile  = "steps.txt"
	demoSecretFile = "ledger-secret"
)

const demoInterval = time.Second

// demoSettings are additional settings. Fairlead merges all pull requests itself.
const demoSettings = `
merge: {%s}

ledger:
  # What the keys of the clusters are derived from: fairlead fleet token NAME prints them.
  secret: {file: %q}
`

func (f demoFolder) path(name ...string) string {
	return filepath.Join(append([]string{string(f)}, name...)...)
}

// create fills the folder with a control plane for environments, which has a sample unless it is for stacks.
func (f demoFolder) create(ctx context.Context, listen string, stack bool, environments ...string) error {
	o := scaffold.Options{ControlPlane: f.path("control-plane.git"), GitOps: f.path("gitops.git"), Sample: !stack, Environments: environments}
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
	switch {
	case err != nil:
		return err
	case stack:
		for _, e := range environments {
			if err := os.MkdirAll(f.path(addEnvironment(stackFolder, e)), 0o755); err != nil {
				return err
			}
		}
		return os.MkdirAll(f.path(stackFolder), 0o755)
	}
	return f.addTeam(ctx, environments)
}

// addTeam gives the control plane a second team, whose workload is deployed where that of the sample is.
func (f demoFolder) addTeam(ctx context.Context, environments []string) error {
	for _, branch := range append(slices.Clone(environments), "main") {
		folder, to := "scheduling-policies", []string{"--detach", "origin/" + branch}
		if branch == "main" {
			folder, to = "workloads", []string{branch}
		}
		if err := f.runGit(ctx, append([]string{"switch", "--quiet"}, to...)...); err != nil {
			return err
		}
		text, err := os.ReadFile(f.path(demoClone, folder, "hello.yaml"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(f.path(demoClone, folder, "shop.yaml"), bytes.ReplaceAll(text, []byte("hello"), []byte("shop")), 0o644); err != nil {
			return err
		}
		if err := f.pushAll(ctx, "Add the shop of a second team", branch); err != nil {
			return err
		}
	}
	return nil
}

func (f demoFolder) pushAll(ctx context.Context, message, branch string) error {
	for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--message", message}, {"push", "--quiet", "origin", "HEAD:" + branch}} {
		if err := f.runGit(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func (f demoFolder) runGit(ctx context.Context, args ...string) error {
	_, err := runGit(ctx, nil, append([]string{"-C", f.path(demoClone)}, args...)...)
	return err
}

// recordAddress writes the actual address into the settings, so that commands find the
// daemon.
func (f demoFolder) recordAddress(listen, address string) error {
	file := f.path(defaultSettingsFile)
	settings, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	settings = bytes.Replace(settings, fmt.Appendf(nil, "\nlisten: %q\n", listen), fmt.Appendf(nil, "\nlisten: %q\n", address), 1)
	return os.WriteFile(file, settings, 0o644)
}

// cloneControlPlane makes the user's clone with the settings, and a folder with this
// program. It overrides the user's Git configuration: no hooks, signatures or editor.
func (f demoFolder) cloneControlPlane(ctx context.Context) error {
	args := []string{"clone", "--quiet", "--template="}
	for _, setting := range []string{
		"user.name=" + demoPerson.Name, "user.email=" + demoPerson.Email, "commit.gpgSign=false", "push.gpgSign=false", "push.default=simple", "pull.rebase=true",
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

// demoValue is the first change, for the whole fleet.
const demoValue = "  GREETING: welcome\n"

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
	if err := f.pushAll(ctx, "Greet with welcome", "main"); err != nil {
		return "", err
	}
	return runGit(ctx, nil, "-C", clone, "rev-parse", "HEAD")
}
