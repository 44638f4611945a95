package doctor

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// githubCredential requests the rate limit, which is free and needs no permission. The
// headers have the rest.
func githubCredential(ctx context.Context, d *doctor, a *api) bool {
	said, err := a.get(ctx, nil, "", "rate_limit") // a server of one's own may have none: 404
	if !d.begun(a, said, err) {
		return false
	}
	version := "it answers"
	if v := said.header.Get("X-GitHub-Enterprise-Version"); v != "" {
		version = "GitHub Enterprise Server " + v
	}
	d.ok(a.shown()+": API", "%s", version)
	d.githubScopes(a, said.header)
	expires := said.header.Get("Github-Authentication-Token-Expiration")
	for _, layout := range []string{"2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
		if until, err := time.Parse(layout, expires); err == nil {
			d.expiry(a, until)
			break
		}
	}
	return true
}

// githubScopes checks the scopes of a classic token. GitHub does not report the permissions
// of other tokens.
func (d *doctor) githubScopes(a *api, h http.Header) {
	what := a.shown() + ": token"
	scopes, classic := h["X-Oauth-Scopes"]
	held := strings.FieldsFunc(strings.Join(scopes, ","), func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(held)
	has := cmp.Or(strings.Join(held, ", "), "none")
	switch {
	case a.remote.GitHubApp != nil:
		d.ok(what, "GitHub gives the App one")
	case !classic:
		d.ok(what, "GitHub takes it, and does not tell its permissions: it needs Contents, Pull requests, Commit statuses and Issues, read and write")
	case slices.Contains(held, "repo"):
		d.ok(what, "GitHub takes it; its scopes: %s", has)
	case slices.Contains(held, "public_repo"):
		d.warn(what, "give it the scope repo if one of the repositories is private", "its scopes (%s) are for public repositories only", has)
	default:
		d.fail(what, "give it the scope repo", "it lacks the scope repo; its scopes: %s", has)
	}
}

// githubAnswer is GitHub's description of a repository.
type githubAnswer struct {
	FullName    string `json:"full_name"`
	Archived    bool   `json:"archived"`
	HasIssues   bool   `json:"has_issues"`
	AutoMerge   *bool  `json:"allow_auto_merge"` // nil without the permission to see it
	Permissions *struct {
		Push bool `json:"push"`
	} `json:"permissions"`
}

func githubRepository(ctx context.Context, d *doctor, r *repository) {
	what := r.shown() + ": API"
	owner, name, _ := strings.Cut(r.path, "/")
	var is githubAnswer
	said, err := r.api.get(ctx, &is, "", "repos", owner, name)
	switch {
	case err != nil:
		d.failed(d.needed(r), what, err)
		return
	case !said.good():
		d.add(Finding{d.needed(r), what, "GitHub does not show it: " + said.says, "let the token, or the App, reach this repository, with Metadata: read"})
		return
	case !strings.EqualFold(is.FullName, r.path):
		d.warn(what, "write its new name into the control plane and the settings", "it is now called %s", is.FullName)
		return
	}
	d.rights(r, is.Permissions == nil || is.Permissions.Push, is.Permissions != nil, is.Archived)
	d.githubReads(ctx, r, "statuses", "Commit statuses", "commits", "HEAD", "status")
	d.githubReads(ctx, r, "pull requests", "Pull requests", "pulls")
	if r.outputs == nil {
		return
	}
	d.issues(r, is.HasIssues)
	if is.HasIssues {
		d.githubReads(ctx, r, "issues", "Issues", "issues")
	}
	if is.AutoMerge != nil {
		d.autoMerge(r, *is.AutoMerge)
	}
	for _, to := range r.outputs {
		d.githubRules(ctx, r, d.config.Output.BranchPrefix+to.environment)
		d.githubProtection(ctx, r, to.branch)
	}
}

// githubReads checks that something can be read: without that it cannot be written either.
func (d *doctor) githubReads(ctx context.Context, r *repository, aspect, permission string, parts ...string) {
	owner, name, _ := strings.Cut(r.path, "/")
	said, err := r.api.get(ctx, nil, "per_page=1", append([]string{"repos", owner, name}, parts...)...)
	what, level := r.shown()+": "+aspect, d.needed(r)
	if aspect != "pull requests" { // the daemon goes on without
		level = Warn
	}
	switch {
	case err != nil:
		d.failed(level, what, err)
	case said.status == http.StatusForbidden || said.status == http.StatusNotFound:
		text := "GitHub refuses them: " + said.says
		if wants := cmp.Or(said.header.Get("X-Accepted-Github-Permissions"), said.header.Get("X-Accepted-Oauth-Scopes")); wants != "" {
			text += " (it wants " + wants + ")"
		}
		d.add(Finding{level, what, text, "give the token, or the App, the permission " + permission + ": read and write"})
	case said.good():
		d.ok(what, "they can be read")
	}
}

// refusing has the rules of GitHub that refuse a push to our own branches, and how.
var refusing = map[string]string{
	"creation":         "it may not be made",
	"update":           "it may not be moved",
	"deletion":         "it may not be removed",
	"non_fast_forward": "it may not be moved to a commit that is not above the last",
	"pull_request":     "it may be moved by pull requests only",
}

// githubRules checks the rules for the branch that we push to.
func (d *doctor) githubRules(ctx context.Context, r *repository, branch string) {
	owner, name, _ := strings.Cut(r.path, "/")
	var rules []struct {
		Type string `json:"type"`
	}
	said, err := r.api.get(ctx, &rules, "per_page=100", "repos", owner, name, "rules", "branches", branch)
	what := r.shown() + ": rules for " + branch
	if err != nil || !said.good() {
		d.ok(what, "they cannot be seen with this token")
		return
	}
	var broken []string
	for _, rule := range rules {
		if why := refusing[rule.Type]; why != "" {
			broken = append(broken, why)
		}
		if rule.Type == "required_signatures" && d.config.Signing == nil {
			broken = append(broken, "its commits must be signed, and signing in the settings is not set")
		}
	}
	slices.Sort(broken)
	broken = slices.Compact(broken)
	if broken == nil {
		d.ok(what, "none is in our way")
		return
	}
	d.warn(what, "leave the branches "+d.config.Output.BranchPrefix+"** out of the ruleset, or let Fairlead bypass it", "%s", strings.Join(broken, "; "))
}

// githubProtection checks the protection of the branch that pull requests are for.
func (d *doctor) githubProtection(ctx context.Context, r *repository, branch string) {
	owner, name, _ := strings.Cut(r.path, "/")
	type on struct {
		Enabled bool `json:"enabled"`
	}
	var is struct {
		Lock       on `json:"lock_branch"`
		Signatures on `json:"required_signatures"`
	}
	said, err := r.api.get(ctx, &is, "", "repos", owner, name, "branches", branch, "protection")
	what := r.shown() + ": protection of " + branch
	switch {
	case err == nil && said.status == http.StatusNotFound && strings.Contains(said.says, "Branch not protected"):
		d.ok(what, "there is none")
	case err != nil || !said.good():
		d.ok(what, "it cannot be seen with this token")
	case is.Lock.Enabled:
		d.warn(what, "unlock the branch", "it is locked: nothing can be merged into it")
	case is.Signatures.Enabled && d.config.Signing == nil:
		d.warn(what, "set signing in the settings, with a key that GitHub knows", "its commits must be signed, and ours are not")
	default:
		d.ok(what, "it is not in our way")
	}
}
