package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// built says what this program was made of.
type built struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // the work tree had changes
	Go      string `json:"go"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := a.checkFormat(); err != nil {
				return err
			}
			b := buildInfo()
			return a.print(b, func() string {
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
}

func buildInfo() built {
	b := built{Version: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = info.Main.Version
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
