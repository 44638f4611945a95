package gitea

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Merge merges one of our pull requests, in the way that is the repository's own,
// if its head is a commit. The error is ErrMoved if it is another one, and ErrNotYet
// if the server has to look first; Gitea says the same of a conflict. What else is
// missing, as a required status, is in the error's words. What is merged already
// stays so.
func (g *Forge) Merge(ctx context.Context, number int, commit string) error {
	p, pull, _, err := g.find(ctx, number)
	if err != nil || pull.State == forge.Merged {
		return err
	}
	want := struct {
		Do   string
		Head string `json:"head_commit_id"`
	}{string(cmp.Or(p.Base.Repository.DefaultMergeStyle, sdk.MergeStyleMerge)), commit}
	_, _, err = call(ctx, g, "merge a pull request", func(*sdk.Client) (any, *sdk.Response, error) {
		answer, err := g.ask(ctx, http.MethodPost, g.path("pulls", strconv.Itoa(number), "merge"), want, nil)
		if errors.Is(err, io.ErrUnexpectedEOF) { // the answer to a success is empty
			err = nil
		}
		return nil, answer, err
	})
	if err != nil {
		return err
	}
	_, pull, _, err = g.find(ctx, number)
	if err == nil && pull.State != forge.Merged {
		err = &forge.Refusal{What: "merge a pull request of " + g.repo(), Said: "the server did not, and did not say why", Advice: "it will be tried again"}
	}
	return err
}
