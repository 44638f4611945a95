package cli

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/server/display"
)

// TestDocs: docs/reference/cli.md has all commands and their flags, and the README and it have
// no others; docs/reference/help.md has a section for each command and no other.
func TestDocs(t *testing.T) {
	nobody := display.NewStream(io.Discard)
	var commands, flags, paths []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		commands = append(commands, strings.TrimPrefix(c.CommandPath(), "fairlead "))
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		for _, sub := range c.Commands() {
			if sub.Name() == "help" {
				continue
			}
			paths = append(paths, sub.CommandPath())
			if c.Name() != "completion" {
				walk(sub)
			}
		}
	}
	paths = append(paths, "fairlead")
	walk(newRoot(&app{stdout: nobody, stderr: nobody, format: "text"}))

	page := read(t, "../../docs/reference/cli.md")
	for _, name := range commands[1:] { // without the program itself
		if !regexp.MustCompile("`(fairlead )?" + name + "[` ]").MatchString(page) {
			t.Errorf("docs/reference/cli.md does not have the command %s", name)
		}
	}
	var sections []string
	for _, m := range regexp.MustCompile(`(?m)^## (fairlead.*)$`).FindAllStringSubmatch(read(t, "../../docs/reference/help.md"), -1) {
		sections = append(sections, m[1])
	}
	slices.Sort(sections)
	slices.Sort(paths)
	if !slices.Equal(paths, sections) {
		t.Errorf("docs/reference/help.md has the sections\n%q, and the commands are\n%q", sections, paths)
	}
	cobras, ofOthers := []string{"--help"}, []string{"--no-edit", "--from-file"}
	mentioned := regexp.MustCompile(`(^|[^-\w])(--[a-z][a-z-]*)`)
	known := slices.Concat(flags, cobras, ofOthers)
	for _, name := range []string{"docs/reference/cli.md", "README.md", "docs/reference/kalypso.md"} {
		for _, m := range mentioned.FindAllStringSubmatch(read(t, "../../"+name), -1) {
			if !slices.Contains(known, m[2]) {
				t.Errorf("%s has the flag %s, and the program does not", name, m[2])
			}
		}
	}
	for _, flag := range flags {
		if flag != "--version" && !regexp.MustCompile(flag+`\b`).MatchString(page) {
			t.Errorf("docs/reference/cli.md does not have the flag %s", flag)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
