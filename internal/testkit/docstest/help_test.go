package docstest

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// helpBlock is where a page has what a command prints with --help, folded. What is between the comments is generated.
var helpBlock = regexp.MustCompile(`(?s)<!-- help: fairlead(?: ([a-z -]+?))? -->\n.*?<!-- /help -->`)

// TestHelpPage: docs/reference/cli.md has the help text of every command, once.
func TestHelpPage(t *testing.T) {
	const page = "docs/reference/cli.md"
	missing := map[string]bool{}
	var find func(command []string)
	find = func(command []string) {
		missing[strings.Join(command, " ")] = true
		for _, name := range listSubcommands(readHelp(t, command)) {
			find(append(command[:len(command):len(command)], name))
		}
	}
	find(nil)
	if len(missing) < 35 {
		t.Errorf("%d commands were found", len(missing))
	}
	checkPage(t, page, helpBlock.ReplaceAllStringFunc(readFile(t, page), func(block string) string {
		command := helpBlock.FindStringSubmatch(block)[1]
		if !missing[command] {
			t.Errorf("%s has the help of %q twice, or there is no such command", page, command)
			return block
		}
		delete(missing, command)
		name := strings.TrimSpace("fairlead " + command)
		return "<!-- help: " + name + " -->\n<details><summary><code>" + name + " --help</code></summary>\n\n```text\n" + readHelp(t, strings.Fields(command)) + "```\n\n</details>\n<!-- /help -->"
	}))
	for command := range missing {
		t.Errorf("%s has no line <!-- help: fairlead %s -->, followed by <!-- /help -->", page, command)
	}
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
