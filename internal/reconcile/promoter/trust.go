package promoter

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
	// TrailerActor identifies a person at the page, TrailerLogin is their login at the forge that they signed in at, and
	// TrailerAlias a name that they may have elsewhere.
	TrailerActor = "Fairlead-Actor"
	TrailerLogin = "Fairlead-Login"
	TrailerAlias = "Fairlead-Alias"
)

// ReadPerson returns the author of a commit, or, where the commit says that it was made at the page, who signed in there.
func ReadPerson(info git.CommitInfo, keys sign.Keys) gate.Person {
	p := gate.Person{Names: []string{info.Author.Email}, Keys: keys.KeysOf(info.Author.Email)}
	trailers := publish.Trailers(info.Message)
	if !slices.Contains(trailers[TrailerVia], ViaWeb) {
		return p
	}
	p.Actor = strings.Join(trailers[TrailerActor], " ")
	if p.Actor == "" { // the commit of an older version
		p.Actor = "#" + info.Author.Email
	}
	p.Login = strings.Join(trailers[TrailerLogin], " ")
	p.Claims = append(slices.Clone(trailers[TrailerAlias]), info.Author.Name)
	return p
}

func (m *Promoter) readAuthors(commits []git.CommitInfo, findLogin func(commit string) (string, error)) ([]gate.Person, error) {
	var all []gate.Person
	for _, c := range commits {
		if c.Author == (git.Signature{}) {
			continue
		}
		p := ReadPerson(c, m.options.Keys)
		p.Names, p.Claims = append(p.Names, c.Author.Name), nil
		login, err := findLogin(c.ID)
		if err != nil {
			return nil, err
		}
		p.Login = cmp.Or(login, p.Login)
		if !slices.ContainsFunc(all, func(other gate.Person) bool { return reflect.DeepEqual(other, p) }) {
			all = append(all, p)
		}
	}
	return all, nil
}

const maxAliasCommits = 200

func addEarlierAddresses(b source.Branch, all []gate.Approval) error {
	if !slices.ContainsFunc(all, func(a gate.Approval) bool { return a.Actor != "" }) {
		return nil
	}
	commits, err := b.Repo.FirstParents(b.Head, maxAliasCommits, func(string) bool { return false })
	if err != nil {
		return err
	}
	for _, id := range commits {
		info, err := b.Repo.Commit(id)
		if err != nil {
			return err
		}
		p := ReadPerson(info, sign.Keys{})
		for i := range all {
			if p.Actor != "" && p.Actor == all[i].Actor && !slices.Contains(all[i].Claims, info.Author.Email) {
				all[i].Claims = append(all[i].Claims, info.Author.Email)
			}
		}
	}
	return nil
}

// readTrustedApprovals returns the approvals of a commit, as [ReadApprovals] does, that are files of the environment's branch; where a gate
// asks for it, with why each of them may be another person's.
func readTrustedApprovals(m *Promoter, s *stageState, commit, lane string) ([]gate.Approval, error) {
	all, err := ReadApprovals(s.branch, commit, lane, m.options.Keys)
	if err != nil {
		return all, err
	}
	return judgeApprovals(m, s, commit, all)
}

func readTrustedWaveApprovals(m *Promoter, s *stageState, advance, name string) ([]gate.Approval, error) {
	all, err := ReadWaveApprovals(s.branch, advance, name, m.options.Keys)
	if err != nil {
		return all, err
	}
	return judgeApprovals(m, s, advance, all)
}

func judgeApprovals(m *Promoter, s *stageState, commit string, all []gate.Approval) ([]gate.Approval, error) {
	if gate.StageNeedsTrust(s.spec) {
		for i := range all {
			err := judgeTrust(s.branch, s.spec.Name, commit, &all[i], m.options.Keys, m.now)
			if err != nil {
				return nil, err
			}
		}
	}
	return all, addEarlierAddresses(s.branch, all)
}

// judgeTrust writes into an approval in a file why it may be another person's than the author of its commit, or that a key
// proves that it is theirs, and that it is of this commit for this environment.
func judgeTrust(b source.Branch, environment, commit string, a *gate.Approval, keys sign.Keys, now time.Time) error {
	text, signature, err := b.Repo.ReadSignature(a.Commit)
	if err != nil {
		return err
	}
	owner, key, refused := keys.FindOwner(text, signature, a.Approver, now)
	if refused != nil {
		a.Distrusted = refused.Error()
		return nil
	}
	info, err := b.Repo.Commit(a.Commit)
	if err != nil {
		return err
	}
	if owner == sign.Someone { // whatever its message says
		a.Actor, a.Login, a.Claims = "", "", nil
		a.Keys = append(a.Keys, key)
	}
	// A search that went back too far ends at a commit that has not changed the file.
	changed, err := changesFile(b.Repo, info, a.Location)
	if err != nil {
		return err
	}
	trailers := publish.Trailers(info.Message)
	isOfCommit := func(o *model.Approval) bool { return o.Pos.File == a.Location && o.Commit == commit }
	switch {
	case !changed:
		a.Distrusted = "is too old for its commit to be found"
	case owner == sign.Own && !slices.Equal(trailers[TrailerVia], []string{ViaWeb}):
		a.Distrusted = "is signed by Fairlead, but not for somebody who signed in"
	case !slices.Equal(trailers[TrailerApproval], []string{environment}):
		a.Distrusted = fmt.Sprintf("is in a commit whose message does not say %s: %s", TrailerApproval, environment)
	case !slices.ContainsFunc(b.Progress.Approvals, isOfCommit):
		a.Distrusted = "abbreviates the commit"
	}
	return nil
}

func changesFile(repo *git.Repository, info git.CommitInfo, file string) (bool, error) {
	if len(info.Parents) == 0 {
		return true, nil
	}
	after, _, err := repo.FindEntry(info.ID, file)
	before, _, err2 := repo.FindEntry(info.Parents[0], file)
	return after.ID != before.ID, errors.Join(err, err2)
}

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
