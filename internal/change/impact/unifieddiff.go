package impact

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// UnifiedDiff returns Git's unified diffs from old to new, one text per file, sorted by
// path. context counts the unchanged lines around a change. `git apply` accepts them,
// except for binary files, whose content is omitted.
func UnifiedDiff(old, new tree.Tree, context int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for c := range tree.Diff(old, new) {
			if !yield(unifiedFileDiff(c, context)) {
				return
			}
		}
	}
}

// unifiedFileDiff splits a change of the file type into removal and addition, as Git
// does.
func unifiedFileDiff(c tree.Change, context int) string {
	if !c.Added() && !c.Removed() && fileType(c.Old.Mode) != fileType(c.New.Mode) {
		removal, addition := c, c
		removal.New, addition.Old = tree.Entry{}, tree.Entry{}
		return unifiedFileDiff(removal, context) + unifiedFileDiff(addition, context)
	}
	var b strings.Builder
	from, to := quotePath("a/"+c.Path), quotePath("b/"+c.Path)
	fmt.Fprintf(&b, "diff --git %s %s\n", from, to)
	writeModes(&b, c)
	if c.Added() {
		from = "/dev/null"
	}
	if c.Removed() {
		to = "/dev/null"
	}
	was, is := diffContent(c.Old), diffContent(c.New)
	switch {
	case bytes.Equal(was, is):
	case isBinary(was) || isBinary(is):
		fmt.Fprintf(&b, "Binary files %s and %s differ\n", from, to)
	default:
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
		writeHunks(&b, splitLines(nil, was), splitLines(nil, is), max(context, 0))
	}
	return b.String()
}

func fileType(m tree.Mode) tree.Mode { return m &^ 0o777 }

func writeModes(b *strings.Builder, c tree.Change) {
	const digits = 7
	index := fmt.Sprintf("index %s..%s", c.Old.ID.String()[:digits], c.New.ID.String()[:digits])
	switch {
	case c.Added():
		fmt.Fprintf(b, "new file mode %o\n%s\n", c.New.Mode, index)
	case c.Removed():
		fmt.Fprintf(b, "deleted file mode %o\n%s\n", c.Old.Mode, index)
	case c.Old.Mode != c.New.Mode:
		fmt.Fprintf(b, "old mode %o\nnew mode %o\n", c.Old.Mode, c.New.Mode)
		if c.Old.ID != c.New.ID {
			fmt.Fprintln(b, index)
		}
	default:
		fmt.Fprintf(b, "%s %o\n", index, c.New.Mode)
	}
}

func diffContent(e tree.Entry) []byte {
	if e.Mode == tree.ModeSubmodule {
		return fmt.Appendf(nil, "Subproject commit %s\n", e.ID)
	}
	return e.Data
}

func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

func writeHunks(b *strings.Builder, was, is [][]byte, context int) {
	blocks := diffLines(was, is)
	for len(blocks) > 0 {
		n := 1
		for n < len(blocks) && blocks[n].a0-blocks[n-1].a1 <= 2*context {
			n++
		}
		writeHunk(b, was, is, blocks[:n], context)
		blocks = blocks[n:]
	}
}

func writeHunk(b *strings.Builder, was, is [][]byte, blocks []block, context int) {
	first, last := blocks[0], blocks[len(blocks)-1]
	before := min(context, first.a0)
	after := min(context, len(was)-last.a1)
	fmt.Fprintf(b, "@@ -%s +%s @@\n",
		hunkRange(first.a0-before, last.a1+after), hunkRange(first.b0-before, last.b1+after))
	at := first.a0 - before
	for _, bl := range blocks {
		writeLines(b, ' ', was[at:bl.a0])
		writeLines(b, '-', was[bl.a0:bl.a1])
		writeLines(b, '+', is[bl.b0:bl.b1])
		at = bl.a1
	}
	writeLines(b, ' ', was[at:at+after])
}

// hunkRange returns the lines from (counted from 0) to to in Git's format: no count for
// one line, and an empty range after the previous line.
func hunkRange(from, to int) string {
	if to-from == 1 {
		return fmt.Sprint(to)
	}
	return fmt.Sprintf("%d,%d", from+min(1, to-from), to-from)
}

func writeLines(b *strings.Builder, sign byte, lines [][]byte) {
	for _, line := range lines {
		b.WriteByte(sign)
		b.Write(line)
		if !bytes.HasSuffix(line, []byte("\n")) {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// quotePath quotes special bytes with octal escapes, as Git reads them.
func quotePath(path string) string {
	var quoted []byte
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c < ' ' || c >= 0x7f:
			quoted = fmt.Appendf(quoted, "\\%03o", c)
		default:
			quoted = append(quoted, c)
		}
	}
	if string(quoted) == path {
		return path
	}
	return `"` + string(quoted) + `"`
}
