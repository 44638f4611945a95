package doctor

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// gitlabCredential requests the version, which needs a token, and the token's description.
func gitlabCredential(ctx context.Context, d *doctor, a *api) bool {
	var server struct {
		Version string `json:"version"`
	}
	said, err := a.get(ctx, &server, "", "version")
	if !d.begun(a, said, err) {
		return false
	}
	if said.good() { // a token with few scopes may not read it
		d.ok(a.shown()+": API", "GitLab %s", server.Version)
	}
	var token struct {
		Scopes  []string `json:"scopes"`
		Active  *bool    `json:"active"`
		Expires string   `json:"expires_at"` // a day, or ""
	}
	what := a.shown() + ": token"
	said, err = a.get(ctx, &token, "", "personal_access_tokens", "self")
	slices.Sort(token.Scopes)
	has := strings.Join(token.Scopes, ", ")
	switch {
	case err != nil || !said.good():
		d.ok(what, "GitLab does not tell what it may do: it needs the scope api")
		return true
	case token.Active != nil && !*token.Active:
		d.fail(what, "make a new one", "it is not active any more")
	case !slices.Contains(token.Scopes, "api"):
		d.fail(what, "make one with the scope api", "it lacks the scope api; its scopes: %s", has)
	default:
		d.ok(what, "GitLab takes it; its scopes: %s", has)
	}
	if until, err := time.Parse(time.DateOnly, token.Expires); err == nil {
		d.expiry(a, until)
	}
	return true
}

// developer is GitLab's access level that may push and open merge requests.
const developer = 30

// gitlabAccess is an access level in a project or in its group.
type gitlabAccess struct {
	Level int `json:"access_level"`
}

// gitlabAnswer is GitLab's description of a project.
type gitlabAnswer struct {
	Path        string `json:"path_with_namespace"`
	Archived    bool   `json:"archived"`
	Issues      *bool  `json:"issues_enabled"`
	Requests    *bool  `json:"merge_requests_enabled"`
	Permissions struct {
		Project *gitlabAccess `json:"project_access"`
		Group   *gitlabAccess `json:"group_access"`
	} `json:"permissions"`
}

// level returns the access level of our account; false if GitLab does not report it.
func (g gitlabAnswer) level() (int, bool) {
	level, told := 0, false
	for _, access := range []*gitlabAccess{g.Permissions.Project, g.Permissions.Group} {
		if access != nil {
			level, told = max(level, access.Level), true
		}
	}
	return level, told
}

func gitlabRepository(ctx context.Context, d *doctor, r *repository) {
	what := r.shown() + ": API"
	var is gitlabAnswer
	said, err := r.api.get(ctx, &is, "", "projects", r.path)
	switch {
	case err != nil:
		d.failed(d.needed(r), what, err)
		return
	case !said.good():
		d.add(Finding{d.needed(r), what, "GitLab does not show it: " + said.says, "make the account of the token a developer of the project"})
		return
	case !strings.EqualFold(is.Path, r.path):
		d.warn(what, "write its new path into the control plane and the settings", "it is now called %s", is.Path)
		return
	}
	level, told := is.level()
	d.rights(r, level >= developer, told, is.Archived)
	if r.outputs == nil {
		return
	}
	d.issues(r, is.Issues == nil || *is.Issues)
	if is.Requests != nil && !*is.Requests {
		d.add(Finding{d.needed(r), r.shown() + ": pull requests", "merge requests are off", "switch them on in the settings of the project"})
	}
	d.gitlabProtection(ctx, r, level, told)
}

// gitlabProtected is the protection of the branches that match a name with wildcards.
type gitlabProtected struct {
	Name  string         `json:"name"`
	Push  []gitlabAccess `json:"push_access_levels"`
	Force bool           `json:"allow_force_push"`
}

func (p gitlabProtected) covers(branch string) bool {
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(p.Name), `\*`, ".*") + "$"
	return regexp.MustCompile(pattern).MatchString(branch)
}

// refuses returns why the protection refuses force pushes of an account with an access
// level; "" if it does not. It cannot see users that are named one by one.
func (p gitlabProtected) refuses(level int, told bool) string {
	may := !told || slices.ContainsFunc(p.Push, func(a gitlabAccess) bool { return a.Level > 0 && a.Level <= level })
	switch {
	case !may:
		return "may not be pushed to with what our account is in the project"
	case !p.Force:
		return "may not be replaced, as force pushes are not allowed"
	}
	return ""
}

func (d *doctor) gitlabProtection(ctx context.Context, r *repository, level int, told bool) {
	var all []gitlabProtected
	said, err := r.api.get(ctx, &all, "per_page=100", "projects", r.path, "protected_branches")
	for _, to := range r.outputs {
		branch := d.config.Output.BranchPrefix + to.environment
		what := r.shown() + ": protection of " + branch
		if err != nil || said.status == http.StatusForbidden || !said.good() {
			d.ok(what, "it cannot be seen with this token")
			continue
		}
		why := ""
		for _, p := range all {
			if p.covers(branch) && why == "" {
				why = p.refuses(level, told)
			}
		}
		if why == "" {
			d.ok(what, "it is not in our way")
			continue
		}
		d.warn(what, "take the protection of our own branches away: people review them in the merge request", "the branch %s", why)
	}
}
