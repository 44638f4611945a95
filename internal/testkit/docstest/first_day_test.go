package docstest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// mistake is one that people make on their first day.
type mistake struct {
	section, what  string
	setup, command string
	answer         []string // what is said
}

// firstDayIntro is how the page begins.
const firstDayIntro = `# First-day mistakes

Look up here what an error means: each row is a mistake, the command that notices it, and what
Fairlead says. A test types all of them (` + "`go test ./internal/testkit/docstest -update`" + ` writes
this page). In each, the reader is in a clone of a sample fleet, unless the first column says
otherwise.
`

// TestFirstDay makes each mistake of testdata/first-day.txt, and holds the page to what is said.
func TestFirstDay(t *testing.T) {
	if testing.Short() {
		t.Skip("-short does not make the mistakes of a first day")
	}
	all := readMistakes(t)
	t.Run("mistakes", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].what, func(t *testing.T) {
				t.Parallel()
				all[i].make(t)
			})
		}
	})
	var page strings.Builder
	page.WriteString(firstDayIntro)
	section := ""
	for _, m := range all {
		if m.section != section {
			section = m.section
			fmt.Fprintf(&page, "\n## %s\n\n| mistake | command | what is said |\n|---|---|---|\n", section)
		}
		var said []string
		for _, line := range m.answer {
			said = append(said, codeCell(line))
		}
		fmt.Fprintf(&page, "| %s | %s | %s |\n", m.what, codeCell(m.command), strings.Join(said, "<br>"))
	}
	checkPage(t, "docs/reference/first-day.md", page.String())
}

// codeCell returns a text as code in a cell of a table.
func codeCell(text string) string {
	text = strings.ReplaceAll(text, "|", `\|`)
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

func readMistakes(t *testing.T) []mistake {
	t.Helper()
	var all []mistake
	section := ""
	for block := range strings.SplitSeq(readFile(t, "internal/testkit/docstest/testdata/first-day.txt"), "\n\n") {
		block = strings.TrimSpace(block)
		if name, ok := strings.CutPrefix(block, "## "); ok {
			section = name
			continue
		}
		lines := strings.Split(block, "\n")
		if section == "" || len(lines) < 2 {
			continue // the words at the top
		}
		m := mistake{section: section, what: lines[0], command: strings.TrimSpace(lines[len(lines)-1])}
		m.setup = strings.Join(lines[1:len(lines)-1], "\n")
		all = append(all, m)
	}
	if len(all) < 60 {
		t.Fatalf("%d mistakes, want 60 at least", len(all))
	}
	return all
}

// sampleFleet is where each mistake is made.
const sampleFleet = `set -eu
exec 2>&1
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.com
export GIT_AUTHOR_DATE='2026-11-23T12:00:00Z' GIT_COMMITTER_DATE='2026-11-23T12:00:00Z'
fairlead init fleet --sample --environments dev,stage,prod > /dev/null
git clone -q fleet/control-plane.git clone
cd clone
edit() {
  sed -i.bak "$1" "$2"
  ! cmp -s "$2" "$2.bak" || { echo "edit changes nothing in $2"; exit 99; }
  rm "$2.bak"
}
`

const answerMark = "=== answer"

var (
	digits    = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	shortHash = regexp.MustCompile(`\b[0-9a-f]{7}\b`)
	tempFile  = regexp.MustCompile(`(/private)?/[^ :]*/TestFirstDay[^/ ]*/[0-9]+/`)
)

// make makes the mistake, and keeps what is said of it.
func (m *mistake) make(t *testing.T) {
	script := sampleFleet + m.setup + "\nset +e\necho '" + answerMark + "'\n" + m.command + "\necho \"$?\"\n"
	output, err := runScript(t, script, []string{"FAIRLEAD_GIT_TOKEN="})
	_, answer, ok := strings.Cut(output, answerMark+"\n")
	if err != nil || !ok {
		t.Fatalf("%v:\n%s", err, output)
	}
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	code := lines[len(lines)-1]
	m.answer = firstAnswer(lines[:len(lines)-1])
	if len(m.answer) == 0 {
		t.Fatalf("nothing is said, and the exit code is %s:\n%s", code, answer)
	}
	if code == "0" && !strings.HasPrefix(m.answer[0], "warning: ") && !strings.HasPrefix(m.answer[0], "note: ") {
		t.Errorf("the exit code is 0:\n%s", answer)
	}
}

// firstAnswer returns the first error and the first hint after it. Where there is no error, it
// is the first warning or note.
func firstAnswer(lines []string) (answer []string) {
	for _, kind := range []string{"error: ", "warning: ", "note: "} {
		for _, line := range lines {
			line = strings.TrimPrefix(strings.TrimSpace(line), "fairlead: ")
			if len(answer) > 0 && strings.HasPrefix(line, "hint: ") {
				return append(answer, hideIDs(line))
			}
			if len(answer) == 0 && strings.HasPrefix(line, kind) {
				answer = []string{hideIDs(line)}
			}
		}
		if len(answer) > 0 {
			return answer
		}
	}
	return nil
}

// hideIDs replaces what is another one in each run.
func hideIDs(line string) string {
	line = tempFile.ReplaceAllString(line, "…/")
	return shortHash.ReplaceAllString(digits.ReplaceAllString(line, "336a399…"), "336a399")
}
