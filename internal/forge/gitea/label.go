package gitea

import (
	"context"
	"slices"

	sdk "code.gitea.io/sdk/gitea"
)

func labelNames(labels []*sdk.Label) (names []string) {
	for _, l := range labels {
		if l != nil {
			names = append(names, l.Name)
		}
	}
	return names
}

func findLabel(all []*sdk.Label, name string) *sdk.Label {
	i := slices.IndexFunc(all, func(l *sdk.Label) bool { return l != nil && l.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

const labelColor = "#70a0b0"

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
			l, _, err = callAPI(ctx, g, "make a label", func(c *sdk.Client) (*sdk.Label, *sdk.Response, error) {
				return c.CreateLabel(g.owner, g.name, sdk.CreateLabelOption{Name: name, Color: labelColor})
			})
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

func (g *Forge) setLabels(ctx context.Context, p *sdk.PullRequest, add, remove []string) error {
	if len(add) > 0 {
		ids, err := g.labelIDs(ctx, add)
		if err != nil {
			return err
		}
		now, _, err := callAPI(ctx, g, "label", func(c *sdk.Client) ([]*sdk.Label, *sdk.Response, error) {
			return c.AddIssueLabels(g.owner, g.name, p.Index, sdk.IssueLabelsOption{Labels: ids})
		})
		if err != nil {
			return err
		}
		p.Labels = now
	}
	for _, name := range remove {
		l := findLabel(p.Labels, name)
		if l == nil {
			continue
		}
		err := doAPI(ctx, g, "remove a label", func(c *sdk.Client) (*sdk.Response, error) {
			return c.DeleteIssueLabel(g.owner, g.name, p.Index, l.ID)
		})
		if unlessGone(err) != nil {
			return err
		}
		p.Labels = slices.DeleteFunc(p.Labels, func(other *sdk.Label) bool { return other == l })
	}
	return nil
}
