package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // with uncommitted changes
	Go      string `json:"go"`
}

// stampedVersion is set by a linker flag (-X) if Go does not know the version: the
// Dockerfile builds without history.
var stampedVersion string

type versionCommand struct {
	app      *app
	check    bool
	releases string
}

func newVersion(a *app) *cobra.Command {
	v := &versionCommand{app: a}
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and check for a newer one",
		Long: `Version prints the version of this program, and the commit and the Go that it was built
from. It asks no server, unless --check is given: then it looks up the newest release, and
exits with 4 if that is newer.`,
		Example: `  fairlead version
  fairlead version --check || echo "upgrade: https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/upgrade.md"`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return v.runVersion(c.Context()) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.BoolVar(&v.check, "check", false, "look up the newest release")
	f.StringVar(&v.releases, "releases", newestRelease, "`URL` that answers with the newest release, as GitHub does")
	a.addOutputFlag(c)
	return c
}

func (v *versionCommand) runVersion(ctx context.Context) error {
	b := readBuildInfo()
	if !v.check {
		return v.app.printValue(b, []string{b.Version}, b.describe)
	}
	found, err := checkRelease(ctx, v.releases, b.Version)
	if err != nil {
		return err
	}
	err = v.app.printValue(found, []string{cmp.Or(found.Newest, found.Version)}, found.describe)
	if err == nil && found.Update {
		return errDiffers
	}
	return err
}

func (b buildInfo) describe() string {
	text := fmt.Sprintf("fairlead %s (%s)", b.Version, b.Go)
	if b.Commit != "" {
		text += " " + b.Commit
	}
	if b.Changed {
		text += " with changes"
	}
	return text + "\n"
}

func readBuildInfo() buildInfo {
	b := buildInfo{Version: stampedVersion, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "unknown")
		return b
	}
	b.Version = cmp.Or(b.Version, info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}
