package cli

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/server/display"
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
	bare := func(a *app) *cobra.Command {
		c := &cobra.Command{}
		c.SetErr(a.stderr)
		return c
	}
	for name, run := range map[string]func(*app) error{
		"check": func(a *app) error {
			k := &checkCommand{app: a}
			k.input.addInputFlags(bare(a))
			k.input.options.Barrier.Before, k.input.options.ControlPlane = die, dir
			return k.runCheck(t.Context())
		},
		"render": func(a *app) error {
			r := &renderCommand{app: a, all: true, outPath: filepath.Join(t.TempDir(), "out")}
			r.input.addInputFlags(bare(a))
			r.input.options.Barrier.Before, r.input.options.ControlPlane = die, dir
			return r.runRender(t.Context())
		},
		"diff": func(a *app) error {
			d := &diffCommand{app: a}
			d.input.addInputFlags(bare(a))
			d.input.options.Barrier.Before, d.input.options.ControlPlane = die, dir
			return d.runDiff(t.Context(), "main", "main")
		},
	} {
		var out, stderr bytes.Buffer
		a := &app{stdout: display.NewStream(&out), stderr: display.NewStream(&stderr), format: "json"}
		err := run(a)
		a.reportError(err)
		var problems *problemsError
		if !errors.As(err, &problems) {
			t.Errorf("%s: it ends with %v", name, err)
		}
		all := out.String() + stderr.String()
		for _, wanted := range []string{"Environment/dev", "internal error ", "input_panics_test.go"} {
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
