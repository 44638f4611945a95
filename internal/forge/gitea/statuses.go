package gitea

import (
	"cmp"
	"context"
	"slices"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// Statuses includes Gitea's workflows.
func (g *Forge) Statuses(ctx context.Context, commit string) ([]forge.CommitStatus, error) {
	found, err := listAll(ctx, g, "list statuses", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.Status, *sdk.Response, error) {
		return c.ListStatuses(g.owner, g.name, commit, sdk.ListStatusesOption{ListOptions: o})
	})
	if err != nil {
		return nil, err
	}
	// The id counts the statuses of a commit.
	slices.SortFunc(found, func(a, b *sdk.Status) int { return cmp.Or(cmp.Compare(a.Context, b.Context), cmp.Compare(b.ID, a.ID)) })
	found = slices.CompactFunc(found, func(a, b *sdk.Status) bool { return a.Context == b.Context })
	return list.Convert(found, func(s *sdk.Status) forge.CommitStatus {
		said := forge.CommitStatus{
			Context: s.Context, Outcome: outcomeOf(string(s.State)), Description: s.Description, URL: s.TargetURL,
			Time: s.Created,
		}
		if s.Creator != nil {
			said.Author = s.Creator.UserName
		}
		return said
	}), nil
}

// outcomeOf maps Gitea's states of statuses and runs. Unknown ones are pending, so that nothing
// proceeds because of them.
func outcomeOf(state string) forge.Outcome {
	switch state {
	case "success", "warning", "skipped":
		return forge.Success
	case "failure", "error", "cancelled":
		return forge.Failure
	}
	return forge.Pending
}

const maxDescription = 140

func (g *Forge) createStatus(ctx context.Context, commit string, s forge.Status) error {
	_, _, err := callAPI(ctx, g, "set a status", func(c *sdk.Client) (*sdk.Status, *sdk.Response, error) {
		return c.CreateStatus(g.owner, g.name, commit, sdk.CreateStatusOption{
			State: sdk.StatusState(s.Outcome), Context: s.Context, TargetURL: s.URL, Description: forge.OneLine(s.Description, maxDescription),
		})
	})
	return err
}
