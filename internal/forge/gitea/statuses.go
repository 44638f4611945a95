package gitea

import (
	"cmp"
	"context"
	"slices"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Statuses returns the latest status of a commit in each context, sorted by context.
// Those of Gitea's own workflows are among them.
func (g *Forge) Statuses(ctx context.Context, commit string) ([]forge.CommitStatus, error) {
	found, err := listAll(ctx, g, "list statuses", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.Status, *sdk.Response, error) {
		return c.ListStatuses(g.owner, g.name, commit, sdk.ListStatusesOption{ListOptions: o})
	})
	if err != nil {
		return nil, err
	}
	// Gitea counts the statuses of a commit, and calls that the id.
	slices.SortFunc(found, func(a, b *sdk.Status) int { return cmp.Or(cmp.Compare(a.Context, b.Context), cmp.Compare(b.ID, a.ID)) })
	var all []forge.CommitStatus
	for i, s := range found {
		if i > 0 && s.Context == found[i-1].Context {
			continue
		}
		said := forge.CommitStatus{
			Context: s.Context, Outcome: outcomeOf(string(s.State)), Description: s.Description, URL: s.TargetURL,
			Time: s.Created,
		}
		if s.Creator != nil {
			said.Author = s.Creator.UserName
		}
		all = append(all, said)
	}
	return all, nil
}

// outcomeOf understands Gitea's words for statuses and how runs end. One that is not
// known counts as pending, so that nothing goes on because of it.
func outcomeOf(state string) forge.Outcome {
	switch state {
	case "success", "warning", "skipped":
		return forge.Success
	case "failure", "error", "cancelled":
		return forge.Failure
	}
	return forge.Pending
}

// maxDescription is how many characters a status has that all forges show.
const maxDescription = 140

func (g *Forge) createStatus(ctx context.Context, commit string, s forge.Status) error {
	_, _, err := callAPI(ctx, g, "set a status", func(c *sdk.Client) (*sdk.Status, *sdk.Response, error) {
		return c.CreateStatus(g.owner, g.name, commit, sdk.CreateStatusOption{
			State: sdk.StatusState(s.Outcome), Context: s.Context, TargetURL: s.URL, Description: forge.OneLine(s.Description, maxDescription),
		})
	})
	return err
}
