package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

type shownNotes struct {
	of   string             // commit and notes; "" for none
	left []forge.Annotation // annotations that cannot be shown
}

// annotateChange annotates the lines of a pull request with problems, and removes these from the
// list in the comment. An error is temporary; then the comment lists everything.
func (v *Previewer) annotateChange(ctx context.Context, f forge.Forge, b targetBranch, c forge.Change, all []environmentPreview) error {
	to, ok := f.(forge.Annotator)
	if !ok {
		return nil
	}
	notes, of := b.listAnnotations(all), ""
	if len(notes) > 0 {
		of = fmt.Sprint(c.Commit, notes)
	}
	was, known := v.noted[c.Number]
	if !known || was.of != of {
		v.options.BeforeEffect("say it at the lines of a change")
		left, err := to.AnnotateChange(ctx, c, statusContext, notes)
		var refused *problem.Refusal
		switch { // the first two are permanent
		case errors.Is(err, git.ErrAccess), errors.As(err, &refused):
			v.options.Logger.Warn("nothing could be said at the lines of a pull request", "pull", c.Number, "error", err)
			left = notes
		case errors.Is(err, forge.ErrUnsupported):
			left = notes
		case err != nil:
			return fmt.Errorf("say it at the lines: %w", err)
		}
		was = shownNotes{of, left}
		v.noted[c.Number] = was
	}
	for i := range all {
		all[i].listed = slices.DeleteFunc(slices.Clone(all[i].problems), func(p problem.Problem) bool {
			n, ok := b.annotationOf(p)
			return ok && !slices.Contains(was.left, n)
		})
	}
	return nil
}

func (b targetBranch) listAnnotations(all []environmentPreview) []forge.Annotation {
	var notes []forge.Annotation
	for _, is := range shareProblems(all, func(p environmentPreview) problem.List { return p.problems }) {
		if n, ok := b.annotationOf(is.Problem); ok && !slices.Contains(notes, n) {
			notes = append(notes, n)
		}
	}
	return notes
}

func (b targetBranch) annotationOf(p problem.Problem) (forge.Annotation, bool) {
	layer := "base"
	if !b.base {
		layer = b.environments[0]
	}
	if p.Pos.Layer != layer || p.Pos.File == "" {
		return forge.Annotation{}, false
	}
	n := forge.Annotation{File: p.Pos.File, Line: max(1, p.Pos.Line), Warning: p.Warning}
	p.Pos = problem.Pos{}
	n.Text = p.String()
	if p.Hint != "" {
		n.Text += fmt.Sprintf(" (%s)", p.Hint)
	}
	return n, true
}
