package promoter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// The trailers of the commit of an approval that can be trusted. The environment is signed with the commit,
// so that what somebody approved for one environment cannot be pushed to the branch of another one.
const (
	// TrailerApproval names the environment that a commit was approved for.
	TrailerApproval = "Fairlead-Approval"
	// TrailerVia says how a person reached Fairlead; ViaWeb is the page.
	TrailerVia = "Fairlead-Via"
	ViaWeb     = "web"
)

// readTrustedApprovals returns the approvals of a commit that are files of the environment's branch; where a gate
// asks for it, with why each of them may be another person's.
func (m *Promoter) readTrustedApprovals(s *stageState, commit string) ([]gate.Approval, error) {
	all, err := ReadApprovals(s.branch, commit)
	if err != nil || !gate.StageNeedsTrust(s.spec) {
		return all, err
	}
	for i, a := range all {
		reason, err := findDistrust(s.branch, s.spec.Name, commit, a, m.options.Keys, m.now)
		if err != nil {
			return nil, err
		}
		all[i].Distrusted = reason
	}
	return all, nil
}

// findDistrust returns why an approval in a file may be another person's than the author of its commit; ""
// if a key proves that it is theirs, and that it is of this commit for this environment.
func findDistrust(b source.Branch, environment, commit string, a gate.Approval, keys sign.Keys, now time.Time) (string, error) {
	text, signature, err := b.Repo.ReadSignature(a.Commit)
	if err != nil {
		return "", err
	}
	owner, refused := keys.FindOwner(text, signature, a.Approver, now)
	if refused != nil {
		return refused.Error(), nil
	}
	info, err := b.Repo.Commit(a.Commit)
	if err != nil {
		return "", err
	}
	// A search that went back too far ends at a commit that has not changed the file.
	changed, err := changesFile(b.Repo, info, a.Location)
	if err != nil {
		return "", err
	}
	trailers := publish.Trailers(info.Message)
	isOfCommit := func(o *model.Approval) bool { return o.Pos.File == a.Location && o.Commit == commit }
	switch {
	case !changed:
		return "is too old for its commit to be found", nil
	case owner == sign.Own && !slices.Equal(trailers[TrailerVia], []string{ViaWeb}):
		return "is signed by Fairlead, but not for somebody who signed in", nil
	case !slices.Equal(trailers[TrailerApproval], []string{environment}):
		return fmt.Sprintf("is in a commit whose message does not say %s: %s", TrailerApproval, environment), nil
	case !slices.ContainsFunc(b.Progress.Approvals, isOfCommit):
		return "abbreviates the commit", nil
	}
	return "", nil
}

// changesFile reports whether a file is another one than in the first parent of a commit.
func changesFile(repo *git.Repository, info git.CommitInfo, file string) (bool, error) {
	if len(info.Parents) == 0 {
		return true, nil
	}
	after, _, err := repo.FindEntry(info.ID, file)
	before, _, err2 := repo.FindEntry(info.Parents[0], file)
	return after.ID != before.ID, errors.Join(err, err2)
}

// findUntrustable returns a warning for each gate that only trusted approvals pass, where none can be.
func (m *Promoter) findUntrustable(spec model.Stage) problem.List {
	if !m.options.Keys.IsEmpty() || spec.Record == recordByPull {
		return nil
	}
	var all problem.List
	for _, g := range slices.Concat(spec.Gates, spec.Proof) {
		if gate.NeedsTrust(g) {
			p := g.Problem("write signing or trustedSigners into the settings, or record: pull-request, whose reviews count", "no approval for %s can be trusted, because there is no key to check commits with", spec.Name)
			p.Warning = true
			all = append(all, p)
		}
	}
	return all
}
