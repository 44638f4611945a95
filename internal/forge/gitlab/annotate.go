package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

type discussion struct {
	ID    string     `json:"id"`
	Notes []lineNote `json:"notes"`
}

type lineNote struct {
	note
	Resolved bool     `json:"resolved"`
	Position position `json:"position"`
}

// position is a line of a diff. An unchanged line has a position in the old file too.
type position struct {
	diffRefs
	Type    string `json:"position_type"`
	OldPath string `json:"old_path"`
	NewPath string `json:"new_path"`
	OldLine *int   `json:"old_line,omitempty"`
	NewLine *int   `json:"new_line,omitempty"`
}

func discussionsPath(number int) string { return mergeRequestPath(number) + "/discussions" }

func (g *Forge) tidyLineComments(ctx context.Context, c forge.Change, mark, user string, wanted []forge.LineComment) ([]forge.LineComment, error) {
	at := discussionsPath(c.Number)
	all, err := listAll[discussion](ctx, g, "list discussions", at, func(o gl.ListOptions) any { return &o })
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if len(d.Notes) == 0 || !d.Notes[0].isBy(user) || !forge.IsComment(d.Notes[0].Body, mark) {
			continue
		}
		// GitLab moves comments to newer commits while their lines are unchanged.
		p := d.Notes[0].Position
		i := slices.IndexFunc(wanted, func(w forge.LineComment) bool {
			a := w.Annotation
			return p.Head == c.Commit && p.NewPath == a.File && p.NewLine != nil && *p.NewLine == a.Line && forge.SameComment(d.Notes[0].Body, w.Text)
		})
		if i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
			continue
		}
		if err := g.retireThread(ctx, at, d); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

func (g *Forge) retireThread(ctx context.Context, at string, d discussion) error {
	at += "/" + gl.PathEscape(d.ID)
	answered := slices.ContainsFunc(d.Notes[1:], func(n lineNote) bool { return !n.System })
	if !answered {
		_, _, err := callAPI[struct{}](ctx, g, "remove a comment", http.MethodDelete, fmt.Sprintf("%s/notes/%d", at, d.Notes[0].ID), nil)
		if errors.Is(err, forge.ErrNotFound) {
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

func (g *Forge) addLineComments(ctx context.Context, c forge.Change, wanted []forge.LineComment) (left []forge.Annotation, err error) {
	m, err := g.readPull(ctx, c.Number)
	if err != nil {
		return nil, err
	}
	if err := g.checkProject(m.item); err != nil {
		return nil, err
	}
	if m.DiffRefs.Head != c.Commit {
		return nil, &problem.Refusal{
			Operation: fmt.Sprintf("annotate merge request %d of %s", c.Number, g.api.Repo), Reason: "its diff is that of " + forge.Quote(m.DiffRefs.Head),
			Kind: forge.ErrMoved, Advice: "it will be looked at again",
		}
	}
	shown, err := g.readDiff(ctx, c.Number)
	if err != nil {
		return nil, err
	}
	opened := 0
	for _, w := range wanted {
		file := shown[w.Annotation.File]
		old, ok := file.lines[w.Annotation.Line]
		if ok && opened < forge.MaxLineComments {
			p := position{diffRefs: m.DiffRefs, Type: "text", OldPath: file.OldPath, NewPath: file.NewPath, NewLine: &w.Annotation.Line}
			if old != 0 {
				p.OldLine = &old
			}
			ok, err = g.openThread(ctx, discussionsPath(c.Number), w.Text, p)
		}
		switch {
		case err != nil:
			return nil, err
		case !ok || opened == forge.MaxLineComments:
			left = append(left, w.Annotation)
		default:
			opened++
		}
	}
	return left, nil
}

func (g *Forge) openThread(ctx context.Context, at, text string, p position) (bool, error) {
	said := struct {
		Body     string   `json:"body"`
		Position position `json:"position"`
	}{text, p}
	_, answer, err := callAPI[discussion](ctx, g, "open a discussion", http.MethodPost, at, said)
	var r *problem.Refusal
	if answer != nil && answer.StatusCode == http.StatusBadRequest && errors.As(err, &r) && strings.Contains(r.Reason, "line_code") {
		return false, nil
	}
	return err == nil, err
}

type fileDiff struct {
	OldPath string `json:"old_path"`
	NewPath string `json:"new_path"`
	Diff    string `json:"diff"` // "" if large

	lines map[int]int
}

func (g *Forge) readDiff(ctx context.Context, number int) (map[string]fileDiff, error) {
	files, err := listAll[fileDiff](ctx, g, "read the diff", mergeRequestPath(number)+"/diffs", func(o gl.ListOptions) any { return &o })
	if err != nil {
		return nil, err
	}
	shown := map[string]fileDiff{}
	for _, f := range files {
		f.lines = forge.DiffLines(f.Diff)
		shown[f.NewPath] = f
	}
	return shown, nil
}
