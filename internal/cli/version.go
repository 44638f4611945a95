package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build says what this program was made of.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // the work tree had changes
	Go      string `json:"go"`
}

func newVersion(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Args:              arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			b := version()
			return a.print(b, b.text)
		},
	}
	a.addOutput(c)
	return c
}

func (b build) text() string {
	text := fmt.Sprintf("fairlead %s (%s)", b.Version, b.Go)
	if b.Commit != "" {
		text += " " + b.Commit
	}
	if b.Changed {
		text += " with changes"
	}
	return text + "\n"
}

func version() build {
	b := build{Version: "unknown", Go: runtime.Version()}
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
