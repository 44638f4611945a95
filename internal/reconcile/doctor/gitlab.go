package doctor

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

func checkGitLabCredential(ctx context.Context, d *examination, a *forgeAPI) bool {
	var server struct {
		Version string `json:"version"`
	}
	said, err := a.getJSON(ctx, &server, "", "version")
	if !d.checkFirstResponse(a, said, err) {
		return false
	}
	if said.isGood() { // a token with few scopes may not read it
		d.addOK(a.credentialName()+": API", "GitLab %s", server.Version)
	}
	var token struct {
		Scopes  []string `json:"scopes"`
		Active  *bool    `json:"active"`
		Expires string   `json:"expires_at"` // a day, or ""
	}
	what := a.credentialName() + ": token"
	said, err = a.getJSON(ctx, &token, "", "personal_access_tokens", "self")
	slices.Sort(token.Scopes)
	has := strings.Join(token.Scopes, ", ")
	switch {
	case err != nil || !said.isGood():
		d.addOK(what, "GitLab does not tell what it may do: it needs the scope api")
		return true
	case token.Active != nil && !*token.Active:
		d.addFailure(what, "make a new one", "it is not active any more")
	case !slices.Contains(token.Scopes, "api"):
		d.addFailure(what, "make one with the scope api", "it lacks the scope api; its scopes: %s", has)
	default:
		d.addOK(what, "GitLab takes it; its scopes: %s", has)
	}
	if until, err := time.Parse(time.DateOnly, token.Expires); err == nil {
		d.checkExpiry(a, until)
	}
	return true
}

// developerLevel may push and open merge requests in GitLab.
const developerLevel = 30

type gitlabAccess struct {
	Level int `json:"access_level"`
}

type gitlabProject struct {
	Path        string `json:"path_with_namespace"`
	Archived    bool   `json:"archived"`
	Issues      *bool  `json:"issues_enabled"`
	Requests    *bool  `json:"merge_requests_enabled"`
	Permissions struct {
		Project *gitlabAccess `json:"project_access"`
		Group   *gitlabAccess `json:"group_access"`
	} `json:"permissions"`
}

func checkGitLabAccess(ctx context.Context, d *examination, r *repository) {
	d.checkGitLabProject(ctx, r)
}

// checkGitLabProject also returns our access level; nil if unknown.
func (d *examination) checkGitLabProject(ctx context.Context, r *repository) (is gitlabProject, level *int, ok bool) {
	said, err := r.api.getJSON(ctx, &is, "", "projects", r.path)
	for _, access := range []*gitlabAccess{is.Permissions.Project, is.Permissions.Group} {
		if access != nil && (level == nil || access.Level > *level) {
			level = &access.Level
		}
	}
	var push *bool
	if level != nil {
		push = new(*level >= developerLevel)
	}
	return is, level, d.checkProject(r, said, err, is.Path, is.Archived, push)
}

func checkGitLabRepository(ctx context.Context, d *examination, r *repository) {
	is, level, ok := d.checkGitLabProject(ctx, r)
	if !ok {
		return
	}
	d.checkGitLabRecords(ctx, r, level)
	if r.outputs == nil {
		return
	}
	d.checkFeatures(r, is.Requests == nil || *is.Requests, is.Issues == nil || *is.Issues, "merge requests are off", "project")
	d.checkGitLabProtection(ctx, r, level)
}

type gitlabProtected struct {
	Name  string         `json:"name"`
	Push  []gitlabAccess `json:"push_access_levels"`
	Merge []gitlabAccess `json:"merge_access_levels"`
	Force bool           `json:"allow_force_push"`
}

// refusalReason returns why protection blocks force pushes, or "". It cannot see individually named
// users.
func (p gitlabProtected) refusalReason(level *int) string {
	switch {
	case !isAllowed(p.Push, level):
		return "may not be pushed to with what our account is in the project"
	case !p.Force:
		return "may not be replaced, as force pushes are not allowed"
	}
	return ""
}

// isAllowed accepts an unknown level, nil. A 0 in the list means no one.
func isAllowed(list []gitlabAccess, level *int) bool {
	return level == nil || slices.ContainsFunc(list, func(a gitlabAccess) bool { return a.Level > 0 && a.Level <= *level })
}

func (p gitlabProtected) matches(branch string) bool {
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(p.Name), `\*`, ".*") + "$"
	return regexp.MustCompile(pattern).MatchString(branch)
}

// checkGitLabMerge requires one matching protection that lets us merge.
func (d *examination) checkGitLabMerge(r *repository, to output, all []gitlabProtected, level *int) {
	all = slices.DeleteFunc(slices.Clone(all), func(p gitlabProtected) bool { return !p.matches(to.branch) })
	if len(all) > 0 {
		d.addMerge(r, to, slices.ContainsFunc(all, func(p gitlabProtected) bool { return isAllowed(p.Merge, level) }), "the protection of "+all[0].Name)
	}
}

func (d *examination) checkGitLabProtection(ctx context.Context, r *repository, level *int) {
	var all []gitlabProtected
	said, err := r.api.getJSON(ctx, &all, "per_page=100", "projects", r.path, "protected_branches")
	for _, to := range r.outputs {
		if d.mergesItself(to) {
			d.checkGitLabMerge(r, to, all, level)
		}
		branch := d.config.Output.BranchPrefix + to.environment
		what := r.redactedURL() + ": protection of " + branch
		if err != nil || said.status == http.StatusForbidden || !said.isGood() {
			d.addOK(what, "it cannot be seen with this token")
			continue
		}
		why := ""
		for _, p := range all {
			if why == "" && p.matches(branch) {
				why = p.refusalReason(level)
			}
		}
		if why == "" {
			d.addOK(what, "it is not in our way")
			continue
		}
		d.addWarning(what, "take the protection of our own branches away: people review them in the merge request", "the branch %s", why)
	}
}
