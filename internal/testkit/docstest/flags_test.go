package docstest

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

var (
	invocation  = regexp.MustCompile(`(?:^ *(?:\$ )?|&& |; |\()fairlead(?:-new)? ([a-z][^|;&)#]*)`)
	flagPattern = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*|-[a-zA-Z])\b`)
	commandWord = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// TestFlags: each command of Fairlead that a page shows exists, with its flags.
func TestFlags(t *testing.T) {
	help := newHelp()
	seen := 0
	for _, p := range readPages(t) {
		for _, b := range p.blocks {
			if b.language != "console" && b.language != "sh" {
				continue
			}
			text := strings.ReplaceAll(b.text, "\\\n", " ")
			for _, line := range strings.Split(text, "\n") {
				if b.language == "console" && !strings.HasPrefix(line, "$ ") {
					continue
				}
				for _, m := range invocation.FindAllStringSubmatch(line, -1) {
					seen++
					if wrong := help.check(t, m[1]); wrong != "" {
						t.Errorf("%s:%d: fairlead %s: %s", p.name, b.line, m[1], wrong)
					}
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d commands were looked at", seen)
	}
}

// TestFlagsNoticed: the check sees what does not exist.
func TestFlagsNoticed(t *testing.T) {
	help := newHelp()
	for _, wrong := range []string{"chekc", "check --strickt", "ephemeral creat x", "status -x"} {
		if help.check(t, wrong) == "" {
			t.Errorf("fairlead %s is taken", wrong)
		}
	}
}

// helpTexts are the texts of --help, by command.
type helpTexts struct {
	get func(command string) (string, bool)
}

func newHelp() helpTexts {
	var texts sync.Map
	return helpTexts{func(command string) (string, bool) {
		if text, ok := texts.Load(command); ok {
			return text.(string), text != ""
		}
		var out bytes.Buffer
		args := append(strings.Fields(command), "--help")
		text := ""
		if cli.Main(context.Background(), args, &out, &out) == 0 && strings.Contains(out.String(), "\n  fairlead "+command+" ") {
			text = out.String()
		}
		texts.Store(command, text)
		return text, text != ""
	}}
}

// check says what of a command does not exist; "" if all of it does.
func (h helpTexts) check(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(line)
	command := words[0]
	text, ok := h.get(command)
	if !ok {
		return "there is no such command"
	}
	if len(words) > 1 && commandWord.MatchString(words[1]) && strings.Contains(text, "Available Commands:") {
		sub, ok := h.get(command + " " + words[1])
		switch {
		case ok:
			text = sub
		case command != "explain": // which takes names as well
			return "there is no such command"
		}
	}
	for _, m := range flagPattern.FindAllStringSubmatch(line, -1) {
		if !regexp.MustCompile(`(^|\s)` + m[1] + `[\s,]`).MatchString(text) {
			return "there is no flag " + m[1]
		}
	}
	return ""
}
