package doctor

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// checkGitHubCredential requests the rate limit, which is free and needs no permission.
func checkGitHubCredential(ctx context.Context, d *examination, a *forgeAPI) bool {
	said, err := a.getJSON(ctx, nil, "", "rate_limit") // an Enterprise Server may answer 404
	if !d.checkFirstResponse(a, said, err) {
		return false
	}
	version := "it answers"
	if v := said.header.Get("X-GitHub-Enterprise-Version"); v != "" {
		version = "GitHub Enterprise Server " + v
	}
	d.addOK(a.credentialName()+": API", "%s", version)
	d.checkGitHubScopes(a, said.header)
	if until := forge.ParseTokenExpiry(said.header); !until.IsZero() {
		d.checkExpiry(a, until)
	}
	return true
}

// checkGitHubScopes checks a classic token. GitHub does not report permissions of other tokens.
func (d *examination) checkGitHubScopes(a *forgeAPI, h http.Header) {
	what := a.credentialName() + ": token"
	scopes, classic := h["X-Oauth-Scopes"]
	held := strings.FieldsFunc(strings.Join(scopes, ","), func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(held)
	has := cmp.Or(strings.Join(held, ", "), "none")
	switch {
	case a.remote.GitHubApp != nil:
		a.hidesPermissions = true
		d.addOK(what, "GitHub gives the App one; what the App may write is not shown")
	case !classic:
		a.hidesPermissions = true
		d.addWarning(what, "compare its permissions with what Fairlead needs: "+d.neededPermissions(), "GitHub takes it, and does not show its permissions: what it may write is not checked")
	case slices.Contains(held, "repo"):
		d.addOK(what, "GitHub takes it; its scopes: %s", has)
	case slices.Contains(held, "public_repo"):
		d.addWarning(what, "give it the scope repo if one of the repositories is private", "its scopes (%s) are for public repositories only", has)
	default:
		d.addFailure(what, "give it the scope repo", "it lacks the scope repo; its scopes: %s", has)
	}
}

func (d *examination) neededPermissions() string {
	write := "Contents, Pull requests, Issues, Commit statuses"
	if d.dispatches {
		write += ", Actions"
	}
	return write + ": read and write; Metadata, Checks: read; for gates that name teams, Members of the organisation: read"
}

type hubProject struct {
	FullName    string `json:"full_name"`
	Archived    bool   `json:"archived"`
	Issues      bool   `json:"has_issues"`
	Pulls       bool   `json:"has_pull_requests"` // Gitea only
	AutoMerge   *bool  `json:"allow_auto_merge"`  // GitHub only; nil if not permitted
	Permissions struct {
		Push *bool `json:"push"`
	} `json:"permissions"`
}

func (r *repository) hubPath(parts ...string) []string {
	owner, name, _ := strings.Cut(r.path, "/")
	return append([]string{"repos", owner, name}, parts...)
}

func (d *examination) checkHubProject(ctx context.Context, r *repository) (hubProject, bool) {
	var is hubProject
	said, err := r.api.getJSON(ctx, &is, "", r.hubPath()...)
	return is, d.checkProject(r, said, err, is.FullName, is.Archived, is.Permissions.Push)
}

func checkHubAccess(ctx context.Context, d *examination, r *repository) { d.checkHubProject(ctx, r) }

func checkGitHubRepository(ctx context.Context, d *examination, r *repository) {
	is, ok := d.checkHubProject(ctx, r)
	if !ok {
		return
	}
	d.checkGitHubRead(ctx, r, "statuses", "Commit statuses: read and write", "commits", "HEAD", "status")
	d.checkGitHubRead(ctx, r, "pull requests", "Pull requests: read and write", "pulls")
	d.checkGitHubRecords(ctx, r)
	d.checkGitHubActions(ctx, r)
	if r.outputs == nil {
		return
	}
	d.checkFeatures(r, true, is.Issues, "", "")
	if is.Issues {
		d.checkGitHubRead(ctx, r, "issues", "Issues: read and write", "issues")
	}
	if is.AutoMerge != nil {
		d.checkAutoMerge(r, *is.AutoMerge)
	}
	if slices.ContainsFunc(r.outputs, d.mergesItself) {
		d.checkGitHubRead(ctx, r, "checks", "Checks: read", "commits", "HEAD", "check-runs")
	}
	for _, to := range r.outputs {
		d.checkGitHubRules(ctx, r, d.config.Output.BranchPrefix+to.environment)
		d.checkGitHubProtection(ctx, r, to.branch)
		if d.mergesItself(to) {
			d.checkGitHubMerge(ctx, r, to)
		}
	}
}

// checkGitHubRead checks read access, without which writing fails too.
func (d *examination) checkGitHubRead(ctx context.Context, r *repository, aspect, permission string, parts ...string) {
	said, err := r.api.getJSON(ctx, nil, "per_page=1", r.hubPath(parts...)...)
	what, level := r.redactedURL()+": "+aspect, d.severity(r)
	if aspect != "pull requests" { // the daemon works without the others
		level = Warn
	}
	switch {
	case err != nil:
		d.addError(level, what, err)
	case said.status == http.StatusForbidden || said.status == http.StatusNotFound:
		text := "GitHub refuses them: " + said.message
		if wants := cmp.Or(said.header.Get("X-Accepted-Github-Permissions"), said.header.Get("X-Accepted-Oauth-Scopes")); wants != "" {
			text += " (it wants " + wants + ")"
		}
		d.addFinding(level, what, text, "give the token, or the App, the permission "+permission)
	case said.isGood() && r.api.hidesPermissions && strings.HasSuffix(permission, "write"):
		d.addOK(what, "they can be read; whether they can be written is not shown")
	case said.isGood():
		d.addOK(what, "they can be read")
	}
}

// pushRules has the rules of GitHub that block pushes to our branches.
var pushRules = map[string]string{
	"creation":         "it may not be made",
	"update":           "it may not be moved",
	"deletion":         "it may not be removed",
	"non_fast_forward": "it may not be moved to a commit that is not above the last",
	"pull_request":     "it may be moved by pull requests only",
}

func (d *examination) checkGitHubRules(ctx context.Context, r *repository, branch string) {
	var rules []struct {
		Type string `json:"type"`
	}
	said, err := r.api.getJSON(ctx, &rules, "per_page=100", r.hubPath("rules", "branches", branch)...)
	what := r.redactedURL() + ": rules for " + branch
	if err != nil || !said.isGood() {
		d.addOK(what, "they cannot be seen with this token")
		return
	}
	var broken []string
	for _, rule := range rules {
		if why := pushRules[rule.Type]; why != "" {
			broken = append(broken, why)
		}
		if rule.Type == "required_signatures" && d.config.Signing == nil {
			broken = append(broken, "its commits must be signed, and signing in the settings is not set")
		}
	}
	slices.Sort(broken)
	broken = slices.Compact(broken)
	if broken == nil {
		d.addOK(what, "none is in our way")
		return
	}
	d.addWarning(what, "leave the branches "+d.config.Output.BranchPrefix+"** out of the ruleset, or let Fairlead bypass it", "%s", strings.Join(broken, "; "))
}

func (d *examination) checkGitHubMerge(ctx context.Context, r *repository, to output) {
	var rules []struct {
		Type string `json:"type"`
	}
	said, err := r.api.getJSON(ctx, &rules, "per_page=100", r.hubPath("rules", "branches", to.branch)...)
	if err != nil || !said.isGood() {
		return // reported by checkGitHubRules
	}
	for _, rule := range rules {
		switch rule.Type {
		case "update":
			d.addMerge(r, to, false, "the rule that only some may update the branch")
		case "merge_queue":
			d.addMerge(r, to, false, "the merge queue")
		}
	}
}

func (d *examination) checkGitHubProtection(ctx context.Context, r *repository, branch string) {
	type on struct {
		Enabled bool `json:"enabled"`
	}
	var is struct {
		Lock       on `json:"lock_branch"`
		Signatures on `json:"required_signatures"`
	}
	said, err := r.api.getJSON(ctx, &is, "", r.hubPath("branches", branch, "protection")...)
	what := r.redactedURL() + ": protection of " + branch
	switch {
	case err == nil && said.status == http.StatusNotFound && strings.Contains(said.message, "Branch not protected"):
		d.addOK(what, "there is none")
	case err != nil || !said.isGood():
		d.addOK(what, "it cannot be seen with this token")
	case is.Lock.Enabled:
		d.addWarning(what, "unlock the branch", "it is locked: nothing can be merged into it")
	case is.Signatures.Enabled && d.config.Signing == nil:
		d.addWarning(what, "set signing in the settings, with a key that GitHub knows", "its commits must be signed, and ours are not")
	default:
		d.addOK(what, "it is not in our way")
	}
}
