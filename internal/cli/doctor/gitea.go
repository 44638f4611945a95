package doctor

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/fairlead-io/fairlead/internal/forge/gitea"
)

// giteaCredential requests the version and the user of the token, without whom Fairlead
// cannot recognize its own comments.
func giteaCredential(ctx context.Context, d *doctor, a *api) bool {
	a.url = a.url.JoinPath("api", "v1")
	var server struct {
		Version string `json:"version"`
	}
	said, err := a.get(ctx, &server, "", "version")
	if err != nil || !said.good() {
		if d.begun(a, said, err) {
			d.fail(a.shown()+": API", "check api in forges of the settings", "it does not tell a version as Gitea does: %s", said.says)
		}
		return false
	}
	name, tried := "Gitea", strings.HasPrefix(server.Version+".", gitea.TestedVersion+".")
	if strings.Contains(server.Version, "+gitea-") {
		name, tried = "Forgejo", false
	}
	if tried {
		d.ok(a.shown()+": API", "%s %s", name, server.Version)
	} else {
		d.ok(a.shown()+": API", "%s %s; what we have tried is Gitea %s", name, server.Version, gitea.TestedVersion)
	}
	said, err = a.get(ctx, nil, "", "user")
	if !d.begun(a, said, err) {
		return false
	}
	what := a.shown() + ": token"
	if !said.good() {
		d.warn(what, "give the token the scope read:user", "%s does not tell whose it is, so that there are no previews: %s", name, said.says)
		return true
	}
	d.ok(what, "%s takes it; it needs the scopes write:repository, write:issue and read:user", name)
	return true
}

// giteaAnswer is Gitea's description of a repository.
type giteaAnswer struct {
	FullName    string `json:"full_name"`
	Archived    bool   `json:"archived"`
	Issues      bool   `json:"has_issues"`
	Requests    bool   `json:"has_pull_requests"`
	Permissions *struct {
		Push bool `json:"push"`
	} `json:"permissions"`
}

func giteaRepository(ctx context.Context, d *doctor, r *repository) {
	what := r.shown() + ": API"
	owner, name, _ := strings.Cut(r.path, "/")
	var is giteaAnswer
	said, err := r.api.get(ctx, &is, "", "repos", owner, name)
	switch {
	case err != nil:
		d.failed(d.needed(r), what, err)
		return
	case !said.good():
		hint := "let the account of the token write to the repository, and give the token the scopes write:repository, write:issue and read:user"
		d.add(Finding{d.needed(r), what, "the server does not show it: " + said.says, hint})
		return
	case !strings.EqualFold(is.FullName, r.path):
		d.warn(what, "write its new name into the control plane and the settings", "it is now called %s", is.FullName)
		return
	}
	d.rights(r, is.Permissions == nil || is.Permissions.Push, is.Permissions != nil, is.Archived)
	if r.outputs == nil {
		return
	}
	if !is.Requests {
		d.add(Finding{d.needed(r), r.shown() + ": pull requests", "they are off", "switch them on in the settings of the repository"})
	}
	d.issues(r, is.Issues)
	if is.Issues {
		d.giteaIssues(ctx, r, owner, name)
	}
	for _, to := range r.outputs {
		d.giteaBranch(ctx, r, d.config.Output.BranchPrefix+to.environment)
	}
}

// giteaIssues checks the scope for issues, which the labels of pull requests need too.
func (d *doctor) giteaIssues(ctx context.Context, r *repository, owner, name string) {
	said, err := r.api.get(ctx, nil, "limit=1", "repos", owner, name, "labels")
	what := r.shown() + ": issues"
	switch {
	case err != nil:
		d.failed(Warn, what, err)
	case said.status == http.StatusForbidden:
		d.warn(what, "give the token the scope write:issue", "the server refuses them: %s", said.says)
	case said.good():
		d.ok(what, "they can be read")
	}
}

// giteaBranch checks the protection of a branch that we push to. The server does not report
// it for a branch that does not exist yet.
func (d *doctor) giteaBranch(ctx context.Context, r *repository, branch string) {
	owner, name, _ := strings.Cut(r.path, "/")
	var is struct {
		Protected bool   `json:"protected"`
		CanPush   *bool  `json:"user_can_push"`
		Rule      string `json:"effective_branch_protection_name"`
	}
	said, err := r.api.get(ctx, &is, "", "repos", owner, name, "branches", branch)
	what := r.shown() + ": protection of " + branch
	switch {
	case err != nil || !said.good():
		d.ok(what, "it cannot be seen as long as the branch is not there")
	case is.Protected && is.CanPush != nil && !*is.CanPush:
		d.warn(what, "let the account of the token push to it, with force", "the rule %s keeps us from pushing", cmp.Or(is.Rule, "for it"))
	case is.Protected:
		d.warn(what, "take the protection of our own branches away, or allow force pushes", "the branch is protected: replacing it may be refused")
	default:
		d.ok(what, "there is none")
	}
}
