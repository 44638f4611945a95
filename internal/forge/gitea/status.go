package gitea

import (
	"context"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// maxDescription is how many characters a status has that all forges show.
const maxDescription = 140

// SetStatus sets a status of a commit. One that we have set already is not sent again:
// Gitea keeps every status.
func (g *Forge) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	if g.statuses.Has(commit, s) {
		return nil
	}
	_, _, err := callAPI(ctx, g, "set a status", func(c *sdk.Client) (*sdk.Status, *sdk.Response, error) {
		return c.CreateStatus(g.owner, g.name, commit, sdk.CreateStatusOption{
			State: sdk.StatusState(s.Outcome), Context: s.Context, TargetURL: s.URL,
			Description: forge.OneLine(s.Description, maxDescription),
		})
	})
	if err != nil {
		return err
	}
	g.statuses.Put(commit, s)
	return nil
}
