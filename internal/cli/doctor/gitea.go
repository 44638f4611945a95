package doctor

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/fairlead-io/fairlead/internal/forge/gitea"
)

// checkGiteaCredential requests the version and the user of the token, without whom Fairlead
// cannot recognize its own comments.
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
		return true
	}
	d.addOK(what, "%s takes it; it needs the scopes write:repository, write:issue and read:user", name)
	return true
}

// giteaProject is Gitea's description of a repository.
type giteaProject struct {
	FullName    string `json:"full_name"`
	Archived    bool   `json:"archived"`
	Issues      bool   `json:"has_issues"`
	Requests    bool   `json:"has_pull_requests"`
	Permissions *struct {
		Push bool `json:"push"`
	} `json:"permissions"`
}

func checkGiteaRepository(ctx context.Context, d *examination, r *repository) {
	what := r.redactedURL() + ": API"
	owner, name, _ := strings.Cut(r.path, "/")
	var is giteaProject
	said, err := r.api.getJSON(ctx, &is, "", "repos", owner, name)
	switch {
	case err != nil:
		d.addError(d.severity(r), what, err)
		return
	case !said.isGood():
		hint := "let the account of the token write to the repository, and give the token the scopes write:repository, write:issue and read:user"
		d.addFinding(Finding{d.severity(r), what, "the server does not show it: " + said.message, hint})
		return
	case !strings.EqualFold(is.FullName, r.path):
		d.addWarning(what, "write its new name into the control plane and the settings", "it is now called %s", is.FullName)
		return
	}
	d.checkRights(r, is.Permissions == nil || is.Permissions.Push, is.Permissions != nil, is.Archived)
	if r.outputs == nil {
		return
	}
	if !is.Requests {
		d.addFinding(Finding{d.severity(r), r.redactedURL() + ": pull requests", "they are off", "switch them on in the settings of the repository"})
	}
	d.checkIssues(r, is.Issues)
	if is.Issues {
		d.checkGiteaIssues(ctx, r, owner, name)
	}
	for _, to := range r.outputs {
		d.checkGiteaBranch(ctx, r, d.config.Output.BranchPrefix+to.environment)
	}
}

// checkGiteaIssues checks the scope for issues, which the labels of pull requests need too.
func (d *examination) checkGiteaIssues(ctx context.Context, r *repository, owner, name string) {
	said, err := r.api.getJSON(ctx, nil, "limit=1", "repos", owner, name, "labels")
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

// checkGiteaBranch checks the protection of a branch that we push to. The server does not report
// it for a branch that does not exist yet.
func (d *examination) checkGiteaBranch(ctx context.Context, r *repository, branch string) {
	owner, name, _ := strings.Cut(r.path, "/")
	var is struct {
		Protected bool   `json:"protected"`
		CanPush   *bool  `json:"user_can_push"`
		Rule      string `json:"effective_branch_protection_name"`
	}
	said, err := r.api.getJSON(ctx, &is, "", "repos", owner, name, "branches", branch)
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
