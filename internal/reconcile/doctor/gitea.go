package doctor

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/forge/gitea"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// checkGiteaCredential checks the version and the token's user, which Fairlead needs to recognize
// its comments.
func checkGiteaCredential(ctx context.Context, d *examination, a *forgeAPI) bool {
	a.url = a.url.JoinPath("api", "v1")
	var server struct {
		Version string `json:"version"`
	}
	said, err := a.getJSON(ctx, &server, "", "version")
	if err != nil || !said.isGood() {
		if d.checkFirstResponse(a, said, err) {
			d.addFailure(a.credentialName()+": API", "check api in forges of the settings", "it does not tell a version as Gitea does: %s", said.message)
		}
		return false
	}
	name, tried := "Gitea", strings.HasPrefix(server.Version+".", gitea.TestedVersion+".")
	if strings.Contains(server.Version, "+gitea-") {
		name, tried = "Forgejo", false
	}
	if tried {
		d.addOK(a.credentialName()+": API", "%s %s", name, server.Version)
	} else {
		d.addOK(a.credentialName()+": API", "%s %s; what we have tried is Gitea %s", name, server.Version, gitea.TestedVersion)
	}
	said, err = a.getJSON(ctx, nil, "", "user")
	if !d.checkFirstResponse(a, said, err) {
		return false
	}
	what := a.credentialName() + ": token"
	if !said.isGood() {
		d.addWarning(what, "give the token the scope read:user", "%s does not tell whose it is, so that there are no previews: %s", name, said.message)
	} else {
		d.addOK(what, "%s takes it; it needs the scopes write:repository, write:issue and read:user", name)
	}
	d.checkGiteaScopes(ctx, a)
	return true
}

// giteaScopes matches Gitea's message for a missing scope.
var giteaScopes = regexp.MustCompile(`token scope=([a-z:,-]+)`)

// checkGiteaScopes names missing scopes. Gitea reports scopes only in refusals, so it requests
// something for administrators.
func (d *examination) checkGiteaScopes(ctx context.Context, a *forgeAPI) {
	said, err := a.getJSON(ctx, nil, "limit=1", "admin", "cron")
	match := giteaScopes.FindStringSubmatch(said.message)
	if err != nil || match == nil {
		return // full access, or not reported
	}
	held := strings.Split(match[1], ",")
	for _, needed := range []struct {
		scope, purpose string
		level          status.Level
	}{
		{"write:repository", "to push, to open pull requests and to set statuses", Fail},
		{"write:issue", "for the labels of pull requests, for comments and for issues", Fail},
		{"read:user", "to recognize our own comments", Warn},
	} {
		more := strings.Replace(needed.scope, "read:", "write:", 1)
		what := a.credentialName() + ": token scope " + needed.scope
		if slices.Contains(held, "all") || slices.Contains(held, needed.scope) || slices.Contains(held, more) {
			continue
		}
		level := needed.level
		if !d.config.Write {
			level = Warn
		}
		d.addFinding(level, what, "the token lacks it: it is needed "+needed.purpose, "make a token with the scopes write:repository, write:issue and read:user")
	}
}

func checkGiteaRepository(ctx context.Context, d *examination, r *repository) {
	is, ok := d.checkHubProject(ctx, r)
	if !ok {
		return
	}
	d.checkGiteaRecords(ctx, r)
	if r.outputs == nil {
		return
	}
	d.checkFeatures(r, is.Pulls, is.Issues, "they are off", "repository")
	if is.Issues {
		d.checkGiteaIssues(ctx, r)
	}
	for _, to := range r.outputs {
		d.checkGiteaBranch(ctx, r, d.config.Output.BranchPrefix+to.environment)
		if d.mergesItself(to) {
			d.checkGiteaMerge(ctx, r, to)
		}
	}
}

func (d *examination) checkGiteaIssues(ctx context.Context, r *repository) {
	said, err := r.api.getJSON(ctx, nil, "limit=1", r.hubPath("labels")...)
	what := r.redactedURL() + ": issues"
	switch {
	case err != nil:
		d.addError(Warn, what, err)
	case said.status == http.StatusForbidden:
		d.addWarning(what, "give the token the scope write:issue", "the server refuses them: %s", said.message)
	case said.isGood():
		d.addOK(what, "they can be read")
	}
}

func (d *examination) checkGiteaMerge(ctx context.Context, r *repository, to output) {
	var is struct {
		CanMerge *bool  `json:"user_can_merge"`
		Rule     string `json:"effective_branch_protection_name"`
	}
	said, err := r.api.getJSON(ctx, &is, "", r.hubPath("branches", to.branch)...)
	if err == nil && said.isGood() && is.CanMerge != nil {
		d.addMerge(r, to, *is.CanMerge, "the rule "+cmp.Or(is.Rule, "for it"))
	}
}

// checkGiteaBranch checks the protection of our branch, which is unknown while it does not exist.
func (d *examination) checkGiteaBranch(ctx context.Context, r *repository, branch string) {
	var is struct {
		Protected bool   `json:"protected"`
		CanPush   *bool  `json:"user_can_push"`
		Rule      string `json:"effective_branch_protection_name"`
	}
	said, err := r.api.getJSON(ctx, &is, "", r.hubPath("branches", branch)...)
	what := r.redactedURL() + ": protection of " + branch
	switch {
	case err != nil || !said.isGood():
		d.addOK(what, "it cannot be seen as long as the branch is not there")
	case is.Protected && is.CanPush != nil && !*is.CanPush:
		d.addWarning(what, "let the account of the token push to it, with force", "the rule %s keeps us from pushing", cmp.Or(is.Rule, "for it"))
	case is.Protected:
		d.addWarning(what, "take the protection of our own branches away, or allow force pushes", "the branch is protected: replacing it may be refused")
	default:
		d.addOK(what, "there is none")
	}
}
