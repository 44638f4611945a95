package github

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf8"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
)

const maxNotes = 50

// AnnotateChange shows annotations in a check run named mark. GitHub can only add annotations to a
// check run, so other annotations need a new one of that name, which replaces it. The external id
// is the digest of all annotations.
func (g *Forge) AnnotateChange(ctx context.Context, c forge.Change, mark string, notes []forge.Annotation) (left []forge.Annotation, err error) {
	if !g.app {
		return notes, &problem.Refusal{
			Operation: "annotate " + g.api.Repo, Reason: "only a GitHub App makes check runs", Kind: forge.ErrUnsupported, Advice: "let Fairlead in as a GitHub App",
		}
	}
	var shown []forge.Annotation
	for _, a := range notes {
		if a.File == "" || a.Line < 1 {
			left = append(left, a)
		} else {
			shown = append(shown, a)
		}
	}
	login, err := g.User(ctx)
	if err != nil {
		return left, err
	}
	runs, err := g.listChecks(ctx, c.Commit, mark)
	if err != nil {
		return left, err
	}
	i := slices.IndexFunc(runs, func(r *gh.CheckRun) bool {
		return r.GetName() == mark && isBy(&gh.User{Login: gh.String(r.GetApp().GetSlug()), Type: gh.String("Bot")}, login)
	})
	digest := digestOf(shown)
	if i < 0 && len(shown) == 0 || i >= 0 && runs[i].GetExternalID() == digest {
		return left, nil
	}
	return left, g.addCheck(ctx, c.Commit, mark, digest, shown)
}

func digestOf(notes []forge.Annotation) string {
	sum := sha256.New()
	for _, a := range notes {
		fmt.Fprintf(sum, "%q %d %t %q\n", a.File, a.Line, a.Warning, a.Text)
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

func (g *Forge) addCheck(ctx context.Context, commit, name, digest string, notes []forge.Annotation) error {
	summary, conclusion := "They are shown at their lines.", "neutral" // a commit status reports failure
	if len(notes) == 0 {
		summary, conclusion = "Nothing is wrong.", "success"
	}
	var id int64
	for sent := 0; ; {
		some := notes[sent:min(sent+maxNotes, len(notes))]
		sent += len(some)
		change := gh.UpdateCheckRunOptions{
			Name: name, Status: gh.String("in_progress"),
			Output: &gh.CheckRunOutput{Title: gh.String(text.Count(len(notes), "problem")), Summary: &summary, Annotations: writeAnnotations(some)},
		}
		if sent == len(notes) {
			change.Status, change.Conclusion, change.ExternalID = gh.String("completed"), &conclusion, &digest
		}
		run, _, err := callAPI(g, "write a check run", func() (*gh.CheckRun, *gh.Response, error) {
			if id != 0 {
				return g.client.Checks.UpdateCheckRun(ctx, g.owner, g.name, id, change)
			}
			return g.client.Checks.CreateCheckRun(ctx, g.owner, g.name, gh.CreateCheckRunOptions{
				Name: name, HeadSHA: commit, Status: change.Status, Conclusion: change.Conclusion, ExternalID: change.ExternalID, Output: change.Output,
			})
		})
		if err != nil || sent == len(notes) {
			return err
		}
		id = run.GetID()
	}
}

// maxMessage is the maximum length of an annotation, in bytes.
const maxMessage = 64 << 10

func writeAnnotations(notes []forge.Annotation) (all []*gh.CheckRunAnnotation) {
	for _, a := range notes {
		level := "failure"
		if a.Warning {
			level = "warning"
		}
		text := forge.FitMarkdown(a.Text, maxMessage/utf8.UTFMax)
		all = append(all, &gh.CheckRunAnnotation{Path: &a.File, StartLine: &a.Line, EndLine: &a.Line, AnnotationLevel: &level, Message: &text})
	}
	return all
}
