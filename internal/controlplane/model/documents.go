package model

import (
	"bytes"
	"regexp"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

// document is the root node of one YAML document of a file.
type document struct {
	root *yaml.Node
	// alone is true if the file has no other. Flux splits a List in such a file
	// before it reads the items, and any other List after that.
	alone bool
	// listed is true if it comes from a list that Flux splits after reading it.
	listed bool
}

// parseDocuments returns the documents of a file as Flux reads them: it cuts the text at
// lines that begin with "---", and reads one document of each piece. It reports what cannot
// be read, and returns the documents before it.
func (r *reader) parseDocuments(data []byte) []document {
	pieces := 1
	if !r.built && mayBeSplit(data) {
		data, pieces = r.checkPieces(data)
	}
	roots, finding := manifest.Documents("the file", data, r.canceled)
	documents := make([]document, len(roots))
	for i, root := range roots {
		documents[i] = document{root: root, alone: pieces == 1}
	}
	if finding != nil {
		r.addUnreadable(problem.Problem{Pos: r.positionAt(finding.Line), Hint: finding.Hint, Summary: finding.Summary}, textFrom(data, finding.Line))
	}
	return documents
}

// mayBeSplit reports whether a text may have more than one document, or a directive.
func mayBeSplit(data []byte) bool {
	for _, mark := range []string{"---", "...", "%"} {
		if bytes.HasPrefix(data, []byte(mark)) || bytes.Contains(data, []byte("\n"+mark)) {
			return true
		}
	}
	return false
}

// checkPieces returns the text that Flux reads of a file, with every line in its place, and
// the number of pieces that it is cut into.
func (r *reader) checkPieces(data []byte) (read []byte, pieces int) {
	line, owned := 1, false
	for begin := 0; begin < len(data); pieces++ {
		end := len(data)
		if i := bytes.Index(data[begin:], []byte("\n---")); i >= 0 {
			end = begin + i + 1
		}
		piece := data[begin:end]
		if !r.checkBeginning(data[begin:], len(piece), line) {
			return data[:begin], pieces
		}
		if i := documentEnd.FindIndex(piece); i != nil {
			if !owned {
				data, owned = bytes.Clone(data), true
			}
			r.blankOut(data[begin+i[0]+len("..."):end], line+bytes.Count(piece[:i[0]], []byte("\n")))
		}
		begin, line = end, line+bytes.Count(piece, []byte("\n"))
	}
	return data, pieces
}

// separator is a line between two documents. Only the one that begins a file may have
// more behind it than a comment.
var separator = regexp.MustCompile(`^---[ \t]*(#.*)?\r?$`)

// checkBeginning reports what Flux does not take at the beginning of a piece, although
// it is YAML. The piece is the beginning of the text, and the rest of that is not read then.
func (r *reader) checkBeginning(text []byte, length, line int) bool {
	piece := text[:length]
	begin, rest, _ := bytes.Cut(piece, []byte("\n"))
	separated := separator.Match(begin)
	if line > 1 && bytes.HasPrefix(begin, []byte("---")) && !separated {
		r.addUnreadable(problem.Problem{Pos: r.positionAt(line), Hint: "begin the document on the next line", Summary: "Flux accepts nothing but a comment after \"---\""}, text)
		return false
	}
	if separated {
		piece = rest
		line++
	}
	for l := range bytes.Lines(piece) {
		if bytes.HasPrefix(l, []byte("%")) {
			r.addUnreadable(problem.Problem{Pos: r.positionAt(line), Hint: "remove the line", Summary: "Flux accepts no YAML directive (a line that begins with %)"}, text)
			return false
		}
		if !isBlank(l) {
			break
		}
		line++
	}
	return true
}

// documentEnd is a line at which Flux stops reading a piece.
var documentEnd = regexp.MustCompile(`(?m)^\.\.\.([ \t].*)?\r?$`)

// blankOut replaces what stands behind a document's end by blanks, and warns if that was
// more than comments.
func (r *reader) blankOut(behind []byte, line int) {
	blank := true
	for text := range bytes.Lines(behind) {
		blank = blank && isBlank(text)
	}
	for i, c := range behind {
		if c != '\n' {
			behind[i] = ' '
		}
	}
	if !blank {
		r.out.problems.Warnf(r.positionAt(line), "", `begin the next document with a line "---"`, `text after the line "..." is ignored`)
	}
}

func isBlank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}
