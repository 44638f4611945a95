package cli

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/internal/cli/display"
)

// TestPanicOfOneEnvironment: where rendering one environment panics, each command names it
// as a problem of that environment, works on all others, and prints the stack.
func TestPanicOfOneEnvironment(t *testing.T) {
	dir := controlPlaneOf(t, "dev", "prod")
	die := func(work, of string) {
		if work == "render" && of == "dev" {
			panic("token s3cr3t")
		}
	}
	bare := func(a *command.App) *cobra.Command {
		c := &cobra.Command{}
		c.SetErr(a.Err)
		return c
	}
	for name, run := range map[string]func(*command.App) error{
		"check": func(a *command.App) error {
			k := &checkCommand{App: a}
			k.addInputFlags(bare(a))
			k.options.Barrier.Before, k.options.ControlPlane = die, dir
			return k.runCheck(t.Context())
		},
		"render": func(a *command.App) error {
			r := &renderCommand{App: a, all: true, outPath: filepath.Join(t.TempDir(), "out")}
			r.addInputFlags(bare(a))
			r.options.Barrier.Before, r.options.ControlPlane = die, dir
			return r.runRender(t.Context())
		},
		"diff": func(a *command.App) error {
			d := &diffCommand{App: a}
			d.addInputFlags(bare(a))
			d.options.Barrier.Before, d.options.ControlPlane = die, dir
			return d.runDiff(t.Context(), "main", "main")
		},
	} {
		var out, stderr bytes.Buffer
		a := &command.App{Out: display.NewStream(&out), Err: display.NewStream(&stderr), Format: "json"}
		err := run(a)
		a.ReportError(err)
		var problems *command.ProblemsError
		if !errors.As(err, &problems) {
			t.Errorf("%s: it ends with %v", name, err)
		}
		all := out.String() + stderr.String()
		for _, wanted := range []string{"Environment/dev", "internal error ", "isolate_test.go"} {
			if !strings.Contains(all, wanted) {
				t.Errorf("%s: nothing says %q:\n%s", name, wanted, all)
			}
		}
		for _, unwanted := range []string{"s3cr3t", "Environment/prod"} {
			if strings.Contains(all, unwanted) {
				t.Errorf("%s: it says %q:\n%s", name, unwanted, all)
			}
		}
		if name == "check" && !strings.Contains(out.String(), `"environment": "prod"`) {
			t.Errorf("check: nothing is said of prod:\n%s", out.String())
		}
	}
}

// controlPlaneOf makes a control plane with some environments, as fairlead init does.
func controlPlaneOf(t *testing.T, environments ...string) string {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	if code := Main(t.Context(), []string{"init", "--sample", "--environments", strings.Join(environments, ","), dir}, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	return filepath.Join(dir, "control-plane.git")
}
