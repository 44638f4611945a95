package archtest

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// maxColumns is the most that a line of Markdown may have. Tables and code cannot be
// wrapped, and one long word, such as a URL, neither.
const maxColumns = 100

// docsFolder holds the pages for users, and docsIndex links to all of them.
const (
	docsFolder = "docs"
	docsIndex  = "docs/README.md"
)

// scaffoldFiles are templates: a line has its length only when it is expanded.
const scaffoldFiles = "internal/controlplane/scaffold/files"

// document is one Markdown file.
type document struct {
	path  string
	lines []string
	code  []bool // whether a line is part of a fenced block
}

var (
	fencePattern    = regexp.MustCompile("^\\s*(```|~~~)")
	linkPattern     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingPattern  = regexp.MustCompile(`^#+ (.*)$`)
	headingLink     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	codeSpanPattern = regexp.MustCompile("`[^`]*`")
	// namedPage is a page that comments, hints and help texts name.
	namedPage = regexp.MustCompile(`\bdocs/[\w/-]+\.md\b`)
)

func newDocument(name, text string) *document {
	d := &document{path: name, lines: strings.Split(text, "\n")}
	in := false
	for _, line := range d.lines {
		fence := fencePattern.MatchString(line)
		d.code = append(d.code, in || fence)
		in = in != fence
	}
	return d
}

// anchors returns what the headings of the document are linked by, as forges name them.
func (d *document) anchors() map[string]bool {
	all := map[string]bool{}
	for i, line := range d.lines {
		m := headingPattern.FindStringSubmatch(line)
		if m == nil || d.code[i] {
			continue
		}
		var slug strings.Builder
		for _, r := range strings.ToLower(headingLink.ReplaceAllString(m[1], "$1")) {
			switch {
			case r == ' ':
				slug.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				slug.WriteRune(r)
			}
		}
		all[slug.String()] = true
	}
	return all
}

// eachLink calls visit for every link of the document to a file of this repository.
func (d *document) eachLink(visit func(line int, target, anchor string)) {
	for i, line := range d.lines {
		if d.code[i] {
			continue
		}
		for _, m := range linkPattern.FindAllStringSubmatch(codeSpanPattern.ReplaceAllString(line, ""), -1) {
			if strings.Contains(m[1], ":") { // a URL
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			if target == "" {
				target = d.path
			} else {
				target = path.Join(path.Dir(d.path), target)
			}
			visit(i+1, target, anchor)
		}
	}
}

// checkMarkdown reports lines that are too long, links that lead nowhere, pages that the
// index does not link to, and pages that the source names and that do not exist.
func checkMarkdown(src *source) problem.List {
	var l problem.List
	byPath := map[string]*document{}
	for _, d := range src.documents {
		byPath[d.path] = d
	}
	linked := map[string]bool{docsIndex: true}
	for _, d := range src.documents {
		if isWithin(d.path, scaffoldFiles) {
			continue
		}
		l = append(l, d.checkColumns()...)
		d.eachLink(func(line int, target, anchor string) {
			if d.path == docsIndex {
				linked[target] = true
			}
			pos := problem.Pos{File: d.path, Line: line}
			if _, err := fs.Stat(src.fsys, target); err != nil {
				l.Addf(pos, "", "link to a file of the repository", "there is no %s", target)
			} else if other := byPath[target]; anchor != "" && other != nil && !other.anchors()[anchor] {
				l.Addf(pos, "", "link to one of its headings", "%s has no heading #%s", target, anchor)
			}
		})
	}
	for _, p := range src.packages {
		for _, f := range p.files {
			l = append(l, f.checkNamedPages(src.fsys)...)
		}
	}
	for _, d := range src.documents {
		if isWithin(d.path, docsFolder) && !linked[d.path] {
			l.Addf(problem.Pos{File: d.path}, "", "add it to "+docsIndex, "the index does not link to this page")
		}
	}
	return l
}

func (d *document) checkColumns() problem.List {
	var l problem.List
	for i, line := range d.lines {
		text := strings.TrimSpace(line)
		if d.code[i] || strings.HasPrefix(text, "|") || !strings.Contains(text, " ") {
			continue
		}
		if n := utf8.RuneCountInString(line); n > maxColumns {
			l.Addf(problem.Pos{File: d.path, Line: i + 1}, "", "wrap it", "the line has %d columns, more than %d", n, maxColumns)
		}
	}
	return l
}

// checkNamedPages reports pages that comments and texts of a file name, and that do not
// exist.
func (f *file) checkNamedPages(fsys fs.FS) problem.List {
	var l problem.List
	report := func(n ast.Node, text string) {
		for _, name := range namedPage.FindAllString(text, -1) {
			if _, err := fs.Stat(fsys, name); err != nil {
				l.Addf(f.pos(n), "", "name a page that exists", "there is no %s", name)
			}
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			report(lit, lit.Value)
		}
		return true
	})
	for _, group := range f.syntax.Comments {
		report(group, group.Text())
	}
	return l
}
