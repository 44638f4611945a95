// Package docstest holds the documentation to the program: commands in the tutorial and
// the how-to guides are typed as they stand there, YAML is read by what reads it in
// earnest, flags exist, and reference pages that are made from source are as the source
// says.
//
// What its tests keep true: a block marked console runs, and prints what the page shows;
// a block marked sh needs a cluster, a forge or another network, and names the program
// that does; where there are stand-ins for these programs, as for the tutorial on GitHub, it is
// typed too; nothing on a page is skipped without a reason that a reader can see.
//
// A page may hold what only the test reads, in comments of HTML: "setup: NAME" begins in
// testdata/NAME.sh, "run: COMMAND" does what the reader's daemon or forge would do, and
// "yaml: PATH" saves the YAML above as the reader is told to.
package docstest

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// root is the repository, as the tests see it.
const root = "../../.."

// block is one fenced block of a page.
type block struct {
	page     string
	line     int // of its first line of text
	language string
	text     string
}

// step is one thing that the test of a page does.
type step struct {
	line    int
	command string
	want    []string // lines of its output, in which … stands for anything
}

// page is one Markdown file.
type page struct {
	name   string
	blocks []block
	setup  string // the file in testdata; "" if nothing of the page is run
	steps  []step
}

var (
	fence   = regexp.MustCompile("^( *)```(\\w*)$")
	comment = regexp.MustCompile(`^<!-- (setup|run|yaml): (.*) -->$`)
)

// readPages returns all pages below docs, and the README.
func readPages(t *testing.T) []*page {
	t.Helper()
	pages := []*page{readPage(t, "README.md")}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			pages = append(pages, readPage(t, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func readPage(t *testing.T, name string) *page {
	t.Helper()
	p := &page{name: name}
	var open *block
	indent := ""
	for i, line := range strings.Split(readFile(t, name), "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != nil && m != nil:
			p.addBlock(t, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case m != nil:
			indent, open = m[1], &block{page: name, line: i + 2, language: m[2]}
		default:
			p.addComment(t, i+1, line)
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block does not end", name, open.line)
	}
	return p
}

func (p *page) addBlock(t *testing.T, b block) {
	t.Helper()
	p.blocks = append(p.blocks, b)
	switch {
	case b.language == "console":
		p.steps = append(p.steps, b.readSteps(t)...)
	case b.language == "sh" && p.setup == "github": // it has stand-ins for the programs
		p.steps = append(p.steps, step{line: b.line, command: b.text})
	}
}

// addComment adds what a comment has the test do.
func (p *page) addComment(t *testing.T, line int, text string) {
	t.Helper()
	m := comment.FindStringSubmatch(text)
	if m == nil {
		return
	}
	switch m[1] {
	case "setup":
		p.setup = m[2]
	case "run":
		p.steps = append(p.steps, step{line: line, command: m[2]})
	case "yaml":
		last := p.blocks[len(p.blocks)-1]
		if last.language != "yaml" {
			t.Fatalf("%s:%d: there is no YAML above", p.name, line)
		}
		p.steps = append(p.steps, step{line: line, command: "mkdir -p " + path.Dir(m[2]) + " && cat > " + m[2] + " <<'YAML'\n" + last.text + "YAML"})
	}
}

// readSteps returns the commands of a block, which begin with "$ ", with what each
// prints. A command goes on after a line that ends with a backslash, and on lines that
// begin with "> ".
func (b block) readSteps(t *testing.T) []step {
	t.Helper()
	var all []step
	for i, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if ok {
			all = append(all, step{line: b.line + i, command: command})
			continue
		}
		if len(all) == 0 {
			t.Fatalf("%s:%d: the block does not begin with a command", b.page, b.line)
		}
		last := &all[len(all)-1]
		rest, goesOn := strings.CutPrefix(line, "> ")
		switch {
		case goesOn || line == ">":
			last.command += "\n" + strings.TrimPrefix(rest, ">")
		case strings.HasSuffix(last.command, `\`):
			last.command += "\n" + line
		default:
			last.want = append(last.want, line)
		}
	}
	return all
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(path.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestEditsLeaveNoCopies: what a page edits with sed, in a form that works with the sed of GNU and of
// BSD, leaves no copy that counts as uncommitted.
func TestEditsLeaveNoCopies(t *testing.T) {
	edit := regexp.MustCompile(`(?m)^(?:\$ )?sed -i(\.bak)? '[^']*' (\S+)`)
	edits := 0
	for _, folder := range []string{"docs/tutorial", "docs/how-to"} {
		entries, err := os.ReadDir(path.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			data, err := os.ReadFile(path.Join(root, folder, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range edit.FindAllStringSubmatch(string(data), -1) {
				edits++
				if m[1] == "" || !regexp.MustCompile(`rm .*`+regexp.QuoteMeta(m[2]+".bak")).Match(data) {
					t.Errorf("%s/%s: %s: use sed -i.bak, and remove %s.bak", folder, entry.Name(), m[0], m[2])
				}
			}
		}
	}
	if edits < 4 {
		t.Errorf("%d edits were found", edits)
	}
}
