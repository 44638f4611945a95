package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/server/display"
)

// printNoObjects are the commands that print no objects of ours: they begin something, show an address, or print
// manifests.
var printNoObjects = []string{"fairlead init", "fairlead demo", "fairlead open", "fairlead trigger", "fairlead fleet export", "fairlead fleet import", "fairlead install daemon", "fairlead install agent", "fairlead plugin", "fairlead schedule export"}

// TestOutputFlags: all commands that print objects print them in the same formats.
func TestOutputFlags(t *testing.T) {
	discard := display.NewStream(io.Discard)
	found := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		path := c.CommandPath()
		switch {
		case c.HasSubCommands() && path != "fairlead explain", c.Name() == "help", strings.HasPrefix(path, "fairlead completion"):
			return
		case slices.Contains(printNoObjects, path):
			found++
			return
		}
		f := c.Flags().Lookup("output")
		if f == nil {
			t.Errorf("%s has no --output", path)
			return
		}
		if shorthand := map[bool]string{true: "", false: "o"}[path == "fairlead render"]; f.Shorthand != shorthand {
			t.Errorf("the shorthand of --output of %s is %q, want %q", path, f.Shorthand, shorthand)
		}
		for _, format := range outputFormats {
			if err := f.Value.Set(format); err != nil {
				t.Errorf("%s --output %s: %v", path, format, err)
			}
		}
	}
	walk(newRoot(&app{stdout: discard, stderr: discard, format: "text"}))
	if found != len(printNoObjects) {
		t.Errorf("%d of %d commands that print no objects were found", found, len(printNoObjects))
	}
}
