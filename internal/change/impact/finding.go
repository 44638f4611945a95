package impact

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

const (
	maxDetails   = 8
	maxValue     = 120 // in characters
	maxDiffLines = 40
	maxDiffBytes = 4000
)

type finding struct {
	classes []Class
	details []detail
	diff    string
	titled  bool // see location
	look    *look
}

type detail struct {
	what, value string
	class       Class
	op          fieldOp
}

type fieldOp int

const (
	fieldChanged fieldOp = iota
	fieldAdded
	fieldRemoved
)

func inspectUnit(at location, files []tree.Change, names []replacement) finding {
	f := finding{titled: at.titled, look: at.look}
	changes, reorder := compareFiles(files)
	if at.stack || at.isSealed() {
		changes = withoutDerived(changes)
	}
	for i := range changes {
		changes[i].stack = at.stack
		changes[i].row = rowOf(changes[i])
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.row - b.row })
	for _, c := range changes {
		f.classes = append(f.classes, rules[c.row].class)
		d := c.describeChange(names)
		d.class = rules[c.row].class
		f.details = append(f.details, d)
	}
	f.classes = slices.Compact(f.classes)
	switch {
	case len(changes) > 0:
	case reorder:
		f.classes = []Class{OrderOnly}
	default:
		f.classes = []Class{FormattingOnly}
	}
	f.diff = diffExcerpt(at, files)
	return f
}

var secretKind = regexp.MustCompile(`kind["']?\s*:\s*["']?Secret\b`)

// diffExcerpt returns a unified diff, possibly cut, without files that may hold a
// Secret.
func diffExcerpt(at location, files []tree.Change) string {
	var b strings.Builder
	lines := 0
	for _, f := range files {
		if secretKind.Match(f.Old.Data) || secretKind.Match(f.New.Data) {
			continue
		}
		f.Path = at.path() + "/" + f.Path
		for l := range strings.Lines(unifiedFileDiff(f, 1)) {
			if strings.HasPrefix(l, "diff ") || strings.HasPrefix(l, "index ") {
				continue
			}
			lines++
			if lines > maxDiffLines || b.Len()+len(l) > maxDiffBytes {
				b.WriteString("[…]\n")
				return b.String()
			}
			b.WriteString(l)
		}
	}
	return b.String()
}

func (c change) describeChange(names []replacement) detail {
	plain := func(s string) string { return printableText(string(appendPlain(nil, []byte(s), names))) }
	subject := plain(c.kind)
	if c.name != "" {
		subject += "/" + plain(c.name)
	}
	switch c.op {
	case added:
		return detail{what: subject + " added"}
	case removed:
		return detail{what: subject + " removed"}
	case renamed:
		return detail{what: subject + " renamed to " + plain(c.text)}
	case mode:
		return detail{what: subject + " mode", value: c.text}
	case opaque:
		return detail{what: strings.TrimSuffix(subject+": "+plain(c.text), ": ")}
	}
	path := list.Convert(c.path, func(key string) string {
		if strings.HasPrefix(key, "[") { // the name of a list item may contain names of the unit
			return plain(key)
		}
		return key
	})
	what := strings.TrimSpace(subject + " " + strings.ReplaceAll(printableText(strings.Join(path, ".")), ".[", "["))
	if c.op == reordered {
		return detail{what: what, value: "another order"}
	}
	d := detail{what: what, value: c.describeValues(plain)}
	isApproval := c.kind == "Terraform" && len(c.path) > 0 && c.path[len(c.path)-1] == "approvePlan"
	isMissing := func(n *yaml.Node) bool { return n == nil || isApproval && n.Kind == yaml.ScalarNode && n.Value == "" }
	switch {
	case isMissing(c.old):
		d.op = fieldAdded
	case isMissing(c.new):
		d.op = fieldRemoved
	}
	return d
}

func (c change) describeValues(plain func(string) string) string {
	was, is := plain(scalarText(c.old)), plain(scalarText(c.new))
	if c.kind == "Secret" || c.kind == "Secret"+inside.HookSuffix {
		was, is = "", ""
	}
	switch {
	case c.old == nil:
		return strings.TrimSpace("added " + is)
	case c.new == nil:
		return strings.TrimSpace("removed " + was)
	case was == "" || is == "":
		return "changed"
	default:
		return was + " -> " + is
	}
}

func scalarText(n *yaml.Node) string {
	if n == nil || yamldoc.ResolveAlias(n).Kind != yaml.ScalarNode || strings.Contains(strings.TrimSpace(yamldoc.ResolveAlias(n).Value), "\n") {
		return ""
	}
	return cmp.Or(strings.TrimSpace(yamldoc.ResolveAlias(n).Value), `""`)
}

func (f finding) detailTexts(withValues bool) []string {
	var texts []string
	for _, d := range f.shownDetails() {
		if d.value != "" && withValues {
			d.what += ": " + d.value
		}
		texts = append(texts, d.what)
	}
	if more := len(f.details) - maxDetails; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	if !withValues {
		texts = append(texts, "with many different values")
	}
	return texts
}

func (f finding) shownDetails() []detail {
	if len(f.details) <= maxDetails {
		return f.details
	}
	var beyond []detail
	for i := maxDetails; i < len(f.details) && len(beyond) < maxDetails/2; i++ {
		if f.details[i].class != f.details[i-1].class {
			beyond = append(beyond, f.details[i])
		}
	}
	return slices.Concat(f.details[:maxDetails-len(beyond)], beyond)
}

// printableText returns a text that is safe to print on one line: shortened, and quoted
// if it has invisible characters.
func printableText(s string) string {
	if utf8.RuneCountInString(s) > maxValue {
		s = string([]rune(s)[:maxValue]) + "…"
	}
	if strings.ContainsFunc(s, isInvisible) {
		return strconv.Quote(s)
	}
	return s
}

func isInvisible(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
