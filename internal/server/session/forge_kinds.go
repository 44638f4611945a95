package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
)

func readGitHub(ctx context.Context, c forgeClient) (forgePerson, error) {
	var user struct {
		ID          int64
		Login, Name string
	}
	err := c.get(ctx, "/user", &user)
	if err != nil {
		return forgePerson{}, err
	}
	p := forgePerson{id: user.ID, login: user.Login, name: user.Name}
	emails, err := listForge[forgeEmail](ctx, c, "/user/emails", "per_page", nil)
	if err != nil && !errors.Is(err, errNotTold) {
		return p, err
	}
	p.email = findVerified(emails)
	if p.email == "" && c.api == "https://api.github.com" {
		p.email = fmt.Sprintf("%d+%s@users.noreply.github.com", user.ID, user.Login)
	}
	return p, p.readTeams(ctx, c, "per_page", "/user/orgs", "/user/teams")
}

// readGitea is also for Forgejo. Groups are as in GitHub.
func readGitea(ctx context.Context, c forgeClient) (forgePerson, error) {
	c.api += "/api/v1"
	var user struct {
		ID       int64
		Login    string
		FullName string `json:"full_name"`
	}
	err := c.get(ctx, "/user", &user)
	if err != nil {
		return forgePerson{}, err
	}
	p := forgePerson{id: user.ID, login: user.Login, name: user.FullName}
	var emails []forgeEmail
	err = c.get(ctx, "/user/emails", &emails)
	if err != nil && !errors.Is(err, errNotTold) {
		return p, err
	}
	p.email = findVerified(emails)
	return p, p.readTeams(ctx, c, "limit", "/user/orgs", "/user/teams")
}

func (p *forgePerson) readTeams(ctx context.Context, c forgeClient, size, organizations, teams string) error {
	orgs, err := listForge[forgeOrganization](ctx, c, organizations, size, nil)
	var names []string
	for _, o := range orgs {
		names = append(names, cmp.Or(o.Login, o.Username, o.Name))
	}
	err = p.addGroups(names, err)
	if err != nil {
		return err
	}
	all, err := listForge[forgeTeam](ctx, c, teams, size, nil)
	names = nil
	for _, t := range all {
		names = append(names, cmp.Or(t.Organization.Login, t.Organization.Username, t.Organization.Name)+"/"+cmp.Or(t.Slug, t.Name))
	}
	return p.addGroups(names, err)
}

func readGitLab(ctx context.Context, c forgeClient) (forgePerson, error) {
	var user struct {
		ID             int64
		Username, Name string
		Email          string
		CommitEmail    string `json:"commit_email"`
		ConfirmedAt    string `json:"confirmed_at"`
	}
	err := c.get(ctx, "/user", &user)
	if err != nil {
		return forgePerson{}, err
	}
	p := forgePerson{id: user.ID, login: user.Username, name: user.Name}
	if user.ConfirmedAt != "" {
		p.email = cmp.Or(user.CommitEmail, user.Email)
	}
	groups, err := listForge[struct {
		FullPath string `json:"full_path"`
	}](ctx, c, "/groups", "per_page", url.Values{"min_access_level": {"10"}, "all_available": {"false"}})
	var names []string
	for _, g := range groups {
		names = append(names, g.FullPath)
	}
	return p, p.addGroups(names, err)
}
