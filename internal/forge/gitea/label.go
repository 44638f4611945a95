package gitea

import (
	"context"
	"errors"
	"slices"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

func sortedLabels(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func hasLabel(all []*sdk.Label, name string) bool { return findLabel(all, name) != nil }

func findLabel(all []*sdk.Label, name string) *sdk.Label {
	i := slices.IndexFunc(all, func(l *sdk.Label) bool { return l != nil && l.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// labelColor is that of labels that we make.
const labelColor = "#70a0b0"

// labelIDs returns the ids of labels, by which Gitea knows them. It makes those that
// the repository does not have.
func (g *Forge) labelIDs(ctx context.Context, names []string) ([]int64, error) {
	if len(names) == 0 {
		return nil, nil
	}
	there, err := g.repoLabels(ctx)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, name := range names {
		l := findLabel(there, name)
		if l == nil {
			l, err = g.makeLabel(ctx, name)
			if err != nil {
				return nil, err
			}
		}
		ids = append(ids, l.ID)
	}
	return ids, nil
}

func (g *Forge) repoLabels(ctx context.Context) ([]*sdk.Label, error) {
	return listAll(ctx, g, "list labels", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.Label, *sdk.Response, error) {
		return c.ListRepoLabels(g.owner, g.name, sdk.ListLabelsOptions{ListOptions: o})
	})
}

func (g *Forge) makeLabel(ctx context.Context, name string) (*sdk.Label, error) {
	l, _, err := callAPI(ctx, g, "make a label", func(c *sdk.Client) (*sdk.Label, *sdk.Response, error) {
		return c.CreateLabel(g.owner, g.name, sdk.CreateLabelOption{Name: name, Color: labelColor})
	})
	return l, err
}

// labelPull returns a pull request the labels that are wanted, and takes those from it
// that were ours. It notes in p what it did.
func (g *Forge) labelPull(ctx context.Context, p *sdk.PullRequest, ours, wanted []string) error {
	missing := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return hasLabel(p.Labels, name) })
	if len(missing) > 0 {
		ids, err := g.labelIDs(ctx, missing)
		if err != nil {
			return err
		}
		p.Labels, _, err = retryCall(ctx, g, "label", func(c *sdk.Client) ([]*sdk.Label, *sdk.Response, error) {
			return c.AddIssueLabels(g.owner, g.name, p.Index, sdk.IssueLabelsOption{Labels: ids})
		})
		if err != nil {
			return err
		}
	}
	for _, name := range ours {
		l := findLabel(p.Labels, name)
		if l == nil || slices.Contains(wanted, name) {
			continue
		}
		_, _, err := retryCall(ctx, g, "remove a label", func(c *sdk.Client) (any, *sdk.Response, error) {
			answer, err := c.DeleteIssueLabel(g.owner, g.name, p.Index, l.ID)
			return nil, answer, err
		})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return err
		}
		p.Labels = slices.DeleteFunc(p.Labels, func(other *sdk.Label) bool { return other == l })
	}
	return nil
}
