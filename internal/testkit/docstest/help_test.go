package docstest

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// helpIntro is how the page of help texts begins.
const helpIntro = `# Help texts

This page has what each command prints with ` + "`--help`" + `: its flags, defaults and examples. The
program writes it (` + "`go test ./internal/testkit/docstest -update`" + `); do not edit it by hand.
[Commands](cli.md) explains the commands, with what they print.
`

// TestHelpPage: docs/reference/help.md has the help text of every command.
func TestHelpPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(helpIntro)
	commands := 0
	var write func(command []string)
	write = func(command []string) {
		text := readHelp(t, command)
		page.WriteString("\n## " + strings.Join(append([]string{"fairlead"}, command...), " ") + "\n\n```text\n" + text + "```\n")
		commands++
		for _, name := range listSubcommands(text) {
			write(append(command[:len(command):len(command)], name))
		}
	}
	write(nil)
	// internal/cli compares the headings with the command tree.
	if commands < 35 {
		t.Errorf("%d commands were found", commands)
	}
	checkPage(t, "docs/reference/help.md", page.String())
}

// readHelp returns what a command prints with --help.
func readHelp(t *testing.T, command []string) string {
	t.Helper()
	var out bytes.Buffer
	args := append(command[:len(command):len(command)], "--help")
	if code := cli.Main(context.Background(), args, &out, &out); code != 0 {
		t.Fatalf("fairlead %s exits with %d:\n%s", strings.Join(args, " "), code, out.String())
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		lines = append(lines, strings.TrimRight(line, " \t"))
	}
	return strings.Join(lines, "\n") + "\n"
}

var subcommandLine = regexp.MustCompile(`^  ([a-z-]+) +[A-Z]`)

// listSubcommands returns the commands that a help text lists, except help itself.
func listSubcommands(text string) []string {
	var names []string
	listed := false // whether the section lists commands
	for line := range strings.SplitSeq(text, "\n") {
		if title, ok := strings.CutSuffix(line, ":"); ok && line[0] != ' ' {
			listed = title != "Usage" && title != "Examples" && title != "Flags" && title != "Global Flags"
		}
		if m := subcommandLine.FindStringSubmatch(line); listed && m != nil && m[1] != "help" {
			names = append(names, m[1])
		}
	}
	return names
}
