package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// discussion is a thread on a merge request.
type discussion struct {
	ID    string     `json:"id"`
	Notes []lineNote `json:"notes"`
}

// lineNote is a comment in a thread; of the first one it may be at a line.
type lineNote struct {
	note
	Resolved bool     `json:"resolved"`
	Position position `json:"position"`
}

// position is a line of a diff. A line that is not new has a place in the old file too.
type position struct {
	diffRefs
	Type    string `json:"position_type"`
	OldPath string `json:"old_path"`
	NewPath string `json:"new_path"`
	OldLine *int   `json:"old_line,omitempty"`
	NewLine *int   `json:"new_line,omitempty"`
}

// maxNew bounds how many threads are opened at once, so that people can still read
// the others.
const maxNew = 50

// AnnotateChange makes these the only threads of ours with this mark at lines of a merge
// request. What stands there already is left alone. One that is out of date is
// removed; if people have answered in it, it is resolved. Lines that the diff does
// not show are given back, and those that are too many.
func (g *Forge) AnnotateChange(ctx context.Context, c forge.Change, mark string, notes []forge.Annotation) ([]forge.Annotation, error) {
	user, err := g.User(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := formatNotes(mark, notes)
	if err != nil {
		return nil, err
	}
	at := mergeRequestPath(c.Number) + "/discussions"
	all, err := listAll[discussion](ctx, g, "list discussions", at, func(o gl.ListOptions) any { return &o })
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if len(d.Notes) == 0 || !d.Notes[0].isBy(user) || !forge.IsComment(d.Notes[0].Body, mark) {
			continue
		}
		if i := slices.IndexFunc(wanted, func(w noteText) bool { return w.isAt(c.Commit, d.Notes[0]) }); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
			continue
		}
		if err := g.retireThread(ctx, at, d); err != nil {
			return nil, err
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	return g.openThreads(ctx, c, at, wanted)
}

// noteText is an annotation and the text of its comment.
type noteText struct {
	forge.Annotation
	text string
}

// formatNotes returns annotations as they are written; what is said twice is said once.
func formatNotes(mark string, notes []forge.Annotation) ([]noteText, error) {
	var all []noteText
	for _, n := range notes {
		text, err := forge.FormatComment(mark, escapeActions(n.Markdown()), maxNote)
		if err != nil {
			return nil, err
		}
		if s := (noteText{n, text}); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all, nil
}

// isAt reports whether a comment says this at the line as it is now. GitLab moves
// comments along to newer commits as long as their lines stay as they were.
func (s noteText) isAt(commit string, n lineNote) bool {
	p := n.Position
	return p.Head == commit && p.NewPath == s.File && p.NewLine != nil && *p.NewLine == s.Line && forge.SameComment(n.Body, s.text)
}

// retireThread ends a thread of ours.
func (g *Forge) retireThread(ctx context.Context, at string, d discussion) error {
	at += "/" + gl.PathEscape(d.ID)
	answered := slices.ContainsFunc(d.Notes[1:], func(n lineNote) bool { return !n.System })
	if !answered {
		_, _, err := callAPI[struct{}](ctx, g, "remove a comment", http.MethodDelete, fmt.Sprintf("%s/notes/%d", at, d.Notes[0].ID), nil)
		if errors.Is(err, forge.ErrNotFound) { // it is gone
			err = nil
		}
		return err
	}
	if d.Notes[0].Resolved {
		return nil
	}
	_, _, err := callAPI[discussion](ctx, g, "resolve a discussion", http.MethodPut, at, &gl.ResolveMergeRequestDiscussionOptions{Resolved: new(true)})
	return err
}

// openThreads opens threads at lines, and returns what has no line in the diff.
func (g *Forge) openThreads(ctx context.Context, c forge.Change, at string, wanted []noteText) (left []forge.Annotation, err error) {
	m, err := g.getPull(ctx, c.Number)
	if err != nil {
		return nil, err
	}
	if err := g.checkProject(m.item); err != nil {
		return nil, err
	}
	if m.DiffRefs.Head != c.Commit {
		return nil, &forge.Refusal{
			Operation: fmt.Sprintf("annotate merge request %d of %s", c.Number, g.project), Reason: "its diff is that of " + oneLine(m.DiffRefs.Head),
			Kind: forge.ErrMoved, Advice: "it will be looked at again",
		}
	}
	shown, err := g.readDiff(ctx, c.Number)
	if err != nil {
		return nil, err
	}
	opened := 0
	for _, w := range wanted {
		p, ok := shown.positionOf(w.File, w.Line)
		if ok && opened < maxNew {
			p.diffRefs = m.DiffRefs
			ok, err = g.openThread(ctx, at, w.text, p)
		}
		switch {
		case err != nil:
			return nil, err
		case !ok || opened == maxNew:
			left = append(left, w.Annotation)
		default:
			opened++
		}
	}
	return left, nil
}

// openThread opens a thread at a line. It is no if GitLab does not know the line.
func (g *Forge) openThread(ctx context.Context, at, text string, p position) (bool, error) {
	said := struct {
		Body     string   `json:"body"`
		Position position `json:"position"`
	}{text, p}
	_, answer, err := callAPI[discussion](ctx, g, "open a discussion", http.MethodPost, at, said)
	var r *forge.Refusal
	if answer != nil && answer.StatusCode == http.StatusBadRequest && errors.As(err, &r) && strings.Contains(r.Reason, "line_code") {
		return false, nil
	}
	return err == nil, err
}

// fileDiff is what a merge request changes in a file.
type fileDiff struct {
	OldPath string `json:"old_path"`
	NewPath string `json:"new_path"`
	Diff    string `json:"diff"` // "" if it is large
}

// diffLines are the lines of the new files that a diff shows.
type diffLines map[string]struct {
	oldPath string
	lines   map[int]int
}

// readDiff reads what a merge request changes.
func (g *Forge) readDiff(ctx context.Context, number int) (diffLines, error) {
	files, err := listAll[fileDiff](ctx, g, "read the diff", mergeRequestPath(number)+"/diffs", func(o gl.ListOptions) any { return &o })
	if err != nil {
		return nil, err
	}
	shown := diffLines{}
	for _, f := range files {
		of := shown[f.NewPath]
		of.oldPath, of.lines = f.OldPath, forge.DiffLines(f.Diff)
		shown[f.NewPath] = of
	}
	return shown, nil
}

// positionOf returns the position of a line; no if the diff does not show it.
func (d diffLines) positionOf(file string, line int) (position, bool) {
	of := d[file]
	old, ok := of.lines[line]
	p := position{Type: "text", OldPath: of.oldPath, NewPath: file, NewLine: &line}
	if old != 0 {
		p.OldLine = &old
	}
	return p, ok
}
