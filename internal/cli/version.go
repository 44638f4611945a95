package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildInfo describes the build of this program.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // the work tree had changes
	Go      string `json:"go"`
}

// stampedVersion is the version that a linker flag (-X) sets where Go does not know it: the
// Dockerfile builds without the history. If it is "", the version is that of Go's build
// information.
var stampedVersion string

func newVersion(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  checkArguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := readBuildInfo()
			return a.printValue(b, func() string {
				text := fmt.Sprintf("fairlead %s (%s)", b.Version, b.Go)
				if b.Commit != "" {
					text += " " + b.Commit
				}
				if b.Changed {
					text += " with changes"
				}
				return text + "\n"
			})
		},
	}
	a.addOutputFlag(c)
	return c
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
