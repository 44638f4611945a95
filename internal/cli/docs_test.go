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

// TestDocs: docs/reference/cli.md explains all commands and their flags, and the README and it have
// no others. What is folded there, the help of each command, does not count.
func TestDocs(t *testing.T) {
	nobody := display.NewStream(io.Discard)
	var commands, flags []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		commands = append(commands, strings.TrimPrefix(c.CommandPath(), "fairlead "))
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		for _, sub := range c.Commands() {
			if sub.Name() == "help" {
				continue
			}
			if c.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(newRoot(&app{stdout: nobody, stderr: nobody, format: "text"}))

	page := regexp.MustCompile(`(?s)<details>.*?</details>`).ReplaceAllString(read(t, "../../docs/reference/cli.md"), "")
	for _, name := range commands[1:] { // without the program itself
		if !regexp.MustCompile("`(fairlead )?" + name + "[` ]").MatchString(page) {
			t.Errorf("docs/reference/cli.md does not have the command %s", name)
		}
	}
	cobras, ofOthers := []string{"--help"}, []string{"--no-edit", "--from-file"}
	mentioned := regexp.MustCompile(`(^|[^-\w])(--[a-z][a-z-]*)`)
	known := slices.Concat(flags, cobras, ofOthers)
	for name, text := range map[string]string{"docs/reference/cli.md": page, "README.md": read(t, "../../README.md"), "docs/reference/kalypso.md": read(t, "../../docs/reference/kalypso.md")} {
		for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
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
