package source

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// ignoreFile is Flux's; its syntax is that of .gitignore.
const ignoreFile = ".sourceignore"

// binaryIgnores and otherIgnores are what Flux leaves out of every source.
var (
	binaryIgnores = "*.jpg\n*.jpeg\n*.gif\n*.png\n*.wmv\n*.flv\n*.tar.gz\n*.zip\n"
	otherIgnores  = strings.Join([]string{
		".git/", ".gitignore", ".gitmodules", ".gitattributes",
		".github/", ".circleci/", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml",
		"cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml",
		"**/.goreleaser.yml", "**/.sops.yaml", "**/.flux.yaml",
	}, "\n")
)

// maxExpressions bounds the patterns with wildcards of a source, and maxMatched the length
// of the paths that they are matched with: without bounds 200 kB of patterns take minutes.
const (
	maxExpressions = 500
	maxMatched     = 4096 // as long as a path can be on Linux
)

// TooManyPatterns is the error for a source whose .sourceignore files have more patterns
// with wildcards than Fairlead matches.
type TooManyPatterns struct{ File string }

// Error names the file with the first pattern that is too many.
func (e *TooManyPatterns) Error() string {
	return fmt.Sprintf("%s has patterns with wildcards beyond the first %d of the repository", e.File, maxExpressions)
}

// Filter leaves out what Flux would: its defaults, then what .sourceignore files
// say, those of sub-folders after those above them. The last pattern that matches
// decides, so that "!" takes back what was left out. Patterns beyond what Fairlead
// matches do not count; [FilterLayer] reports them.
func Filter(t tree.Tree) tree.Tree {
	kept, _ := filter(t, binaryIgnores+otherIgnores)
	return kept
}

// FilterLayer is [Filter] for a layer of a kind; the error is a [*TooManyPatterns]. Pictures and archives stay
// where stacks are: beside a module, or as an overlay, Terraform reads them.
func FilterLayer(kind model.LayerKind, t tree.Tree) (tree.Tree, error) {
	if kind == model.Env || kind == model.TeamStacks {
		return filter(t, otherIgnores)
	}
	return filter(t, binaryIgnores+otherIgnores)
}

func filter(t tree.Tree, defaults string) (tree.Tree, error) {
	var f ignoreFilter
	kept := f.filterFolder("", t, f.appendPatterns(nil, defaults, ""), -1)
	if f.exceeded != "" {
		return kept, &TooManyPatterns{f.exceeded}
	}
	return kept, nil
}

// ignoreFilter counts what is matched.
type ignoreFilter struct {
	expressions int
	exceeded    string // the .sourceignore file with one too many; "" if there is none
}

// filterFolder leaves files out below a folder; a folder of which nothing is left out is given as
// it is. above is the place of the last pattern that matches the folder, or one that it is
// in; -1 for none.
func (f *ignoreFilter) filterFolder(dir string, t tree.Tree, patterns []pattern, above int) tree.Tree {
	entries := t.Entries()
	for _, e := range entries {
		if e.Name == ignoreFile && !e.IsDir() {
			patterns = f.appendPatterns(patterns, string(e.Data), dir)
		}
	}
	var kept []tree.Entry // once it is not all
	for i, e := range entries {
		last := max(above, lastMatch(dir, e.Name, e.IsDir(), patterns))
		same, keep := !e.IsDir(), last < 0 || patterns[last].include
		if e.IsDir() {
			sub := f.filterFolder(path.Join(dir, e.Name), e.Tree(), patterns, last)
			same, keep, e = sub == e.Tree(), true, tree.Dir(e.Name, sub)
		}
		if kept == nil && (!same || !keep) {
			kept = append(make([]tree.Entry, 0, len(entries)), entries[:i]...)
		}
		if kept != nil && keep {
			kept = append(kept, e)
		}
	}
	if kept == nil {
		return t
	}
	return tree.FromEntries(kept)
}

// appendPatterns never changes the patterns of the folder above.
func (f *ignoreFilter) appendPatterns(patterns []pattern, text, dir string) []pattern {
	patterns = patterns[:len(patterns):len(patterns)]
	for line := range strings.Lines(text) {
		if f.exceeded != "" {
			break
		}
		p, ok := parsePattern(strings.TrimRight(line, "\r\n"), dir)
		if !ok {
			continue
		}
		if p.path != nil {
			f.expressions++
		}
		if f.expressions > maxExpressions {
			f.exceeded = path.Join(dir, ignoreFile)
			break
		}
		patterns = append(patterns, p)
	}
	return patterns
}

// lastMatch returns the place of the last pattern that matches a file or folder itself, by the
// folder that it is in and its name; -1 for none. All of them count for that folder.
func lastMatch(dir, name string, isFolder bool, patterns []pattern) int {
	for i := len(patterns) - 1; i >= 0; i-- {
		p := &patterns[i]
		if (isFolder || !p.folders) && p.matches(dir, name) {
			return i
		}
	}
	return -1
}

// pattern is one line of a .sourceignore file. go-git's gitignore package is not used: it does
// not know [!a], "**/a/b" stops at the first folder a, and it compares every pattern with every
// part of every path, without a bound.
type pattern struct {
	dir     string // the folder that it counts for, with a slash at the end; "" for all
	include bool   // it begins with "!"
	folders bool   // it ends in "/", and matches folders only
	// Most patterns are a name, or end a name: for these, comparing texts does.
	name, ending string
	exact        string         // a whole path, without wildcards
	path         *regexp.Regexp // of all others
}

func parsePattern(line, dir string) (pattern, bool) {
	line = strings.TrimLeft(line, " \t")
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " \t")
	}
	if line == "" || strings.HasPrefix(line, "#") {
		return pattern{}, false
	}
	p := pattern{}
	if dir != "" {
		p.dir = dir + "/"
	}
	line, p.include = strings.CutPrefix(line, "!")
	line, p.folders = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return pattern{}, false
	}
	if name := strings.TrimPrefix(line, "**/"); (!anchored || name != line) && !strings.ContainsAny(name, `/*?[\`) {
		p.name = name
		return p, name != ""
	}
	if ending, ok := strings.CutPrefix(line, "*"); ok && !anchored && !strings.ContainsAny(ending, `*?[\`) {
		p.ending = ending
		return p, true
	}
	if anchored && !strings.ContainsAny(line, `*?[\`) {
		p.exact = line
		return p, true
	}
	expression := globExpression(line)
	if !anchored {
		expression = "(?:.*/)?" + expression
	}
	compiled, err := regexp.Compile("^" + expression + "$")
	if err != nil {
		return pattern{}, false // a broken character class matches nothing, as in Git
	}
	p.path = compiled
	return p, true
}

// globExpression turns a glob into a regular expression for a whole path.
func globExpression(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		rest := glob[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || glob[i-1] == '/'):
			b.WriteString("(?:.*/)?")
			i += 2
		case rest == "**" && (i == 0 || glob[i-1] == '/'):
			b.WriteString(".+")
			i++
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^/]")
		case rest[0] == '[':
			class, length := characterClass(rest)
			b.WriteString(class)
			i += length - 1
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i++
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	return b.String()
}

// characterClass reads [a-z] or [!a-z]; without an end it is just a bracket.
func characterClass(glob string) (expression string, length int) {
	end := strings.Index(glob[1:], "]")
	if end <= 0 {
		return regexp.QuoteMeta("["), 1
	}
	class := glob[1 : 1+end]
	if negated, ok := strings.CutPrefix(class, "!"); ok {
		class = "^" + negated
	}
	return "[" + strings.ReplaceAll(class, `\`, `\\`) + "]", end + 2
}

func (p *pattern) matches(dir, name string) bool {
	if p.path != nil {
		whole := path.Join(dir, name)
		return len(whole) <= maxMatched && p.path.MatchString(whole[len(p.dir):])
	}
	if p.exact != "" {
		return path.Join(dir, name)[len(p.dir):] == p.exact
	}
	return name == p.name || p.name == "" && strings.HasSuffix(name, p.ending)
}

// NewIgnoreMatcher parses patterns in the syntax of .gitignore, and returns a function that
// reports whether they ignore a file: the last pattern decides that matches the file, or a
// folder that it is in. Files are named
// from the folder that the patterns are of.
func NewIgnoreMatcher(patterns string) func(file string) bool {
	read := new(ignoreFilter).appendPatterns(nil, patterns, "")
	return func(file string) bool {
		last := -1
		for i, c := range file {
			if c == '/' {
				last = max(last, lastMatch(path.Dir(file[:i]), path.Base(file[:i]), true, read))
			}
		}
		last = max(last, lastMatch(path.Dir(file), path.Base(file), false, read))
		return last >= 0 && !read[last].include
	}
}
