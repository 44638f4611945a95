package promoter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// maxNeedRounds bounds how often gates may ask for more because of an answer.
const maxNeedRounds = 4

// answerNeeds adds to facts what gates need to know. What cannot be read stays unknown and is waited
// for; the first error is that of the stage.
func (m *Promoter) answerNeeds(ctx context.Context, s *stageState, gates *gate.Set, f *gate.Facts) {
	f.Plans, f.Costs = nil, nil
	f.Answers, f.Teams, f.Fleets = map[string]gate.Answer{}, map[string][]string{}, map[string]rollout.Fleet{}
	done := map[string]bool{}
	for range maxNeedRounds {
		more := false
		for _, need := range gates.Needs(*f) {
			if done[need.Key] {
				continue
			}
			done[need.Key], more = true, true
			if err := m.answerNeed(ctx, s, need, f); err != nil {
				s.recordError(fmt.Errorf("%s: %w", need.Key, err))
				f.Answers[need.Key] = gate.Answer{Reason: err.Error()}
			}
		}
		if !more {
			break
		}
	}
}

func (m *Promoter) answerNeed(ctx context.Context, s *stageState, need gate.Need, f *gate.Facts) (err error) {
	switch need.Kind {
	case gate.BaseStatuses, gate.Dispatch: // what a workflow has come to is written there
		f.BaseStatuses, err = m.readStatuses(ctx, m.options.Remotes.ControlPlane(), f.Commit)
		if err != nil || need.Kind == gate.BaseStatuses {
			return err
		}
		a, err := m.runWorkflow(ctx, need, *f)
		if err == nil {
			f.Answers[need.Key] = a
		}
		return err
	case gate.WaveStatuses:
		return readWaveStatuses(ctx, m, s, f)
	case gate.OutputStatuses:
		return m.readOutputStatuses(ctx, s, f)
	case gate.Clusters:
		m.readReports(s, f)
		f.ReportsLost = m.findLostReports(s)
	case gate.Fleet:
		f.Fleets[need.Key] = m.findFleet(s, need, *f)
		if m.options.Ledger != nil {
			f.Excluded = m.options.Ledger.FindExcluded(s.spec.Name)
		}
		f.ReportsLost = m.findLostReports(s)
	case gate.Approvals:
		return m.readApprovals(ctx, s, f)
	case gate.Members:
		return m.readTeamMembers(ctx, need.Team, f)
	case gate.StackPlans:
		return s.readPlans(f)
	case gate.PlanCosts:
		return readCosts(ctx, m, s, f)
	case gate.HTTP:
		f.Answers[need.Key] = m.askServer(ctx, need)
	}
	return nil
}

// maxSameOutputs bounds how many commits with the same output are asked for statuses.
const maxSameOutputs = 5

// readOutputStatuses reads the statuses of the commits that hold the output: others may have pushed
// to the branch after clusters reported on an older one. The newest counts. Contexts that reported
// on the previous output must report on this one too.
func (m *Promoter) readOutputStatuses(ctx context.Context, s *stageState, f *gate.Facts) error {
	f.OutputStatuses, f.PreviousStatuses = nil, nil
	f.OtherEnvironments = m.sharingEnvironments(s)
	if s.waveCommit != "" {
		said, err := m.readStatuses(ctx, s.output.remote, s.waveCommit)
		f.OutputStatuses = said
		return err
	}
	if f.OutputCommit == "" {
		return nil
	}
	same, before, err := s.output.readSameOutputs()
	if err != nil {
		return err
	}
	for _, commit := range same {
		said, err := m.readStatuses(ctx, s.output.remote, commit)
		if err != nil {
			return err
		}
		for _, st := range said {
			if !slices.ContainsFunc(f.OutputStatuses, func(k gate.CommitStatus) bool { return k.Context == st.Context }) {
				f.OutputStatuses = append(f.OutputStatuses, st)
			}
		}
	}
	if before != "" {
		f.PreviousStatuses, err = m.readPreviousStatuses(ctx, s, before, f.OutputStatuses)
	}
	return err
}

// previousOutput is what was reported on the output before, as read when the output after it had
// successorStatuses.
type previousOutput struct {
	commit                      string
	statuses, successorStatuses []gate.CommitStatus
}

// readPreviousStatuses returns the statuses of the previous output. It reads them again only when
// the statuses of its successor have changed.
func (m *Promoter) readPreviousStatuses(ctx context.Context, s *stageState, commit string, since []gate.CommitStatus) ([]gate.CommitStatus, error) {
	known := s.memory.previousOutput
	if known.commit == commit && slices.Equal(known.successorStatuses, since) {
		return known.statuses, nil
	}
	said, err := m.readStatuses(ctx, s.output.remote, commit)
	if err == nil {
		s.memory.previousOutput = previousOutput{commit, said, since}
	}
	return said, err
}

// readSameOutputs returns the head of an output branch with the commits before it that hold the
// same in the folder, and the newest that holds something else; "" if that is far back.
func (p outputLocation) readSameOutputs() (same []string, before string, err error) {
	repo := p.remote.Mirror()
	commits, err := repo.FirstParents(p.head, maxSameOutputs+1, func(string) bool { return false })
	if err != nil {
		return nil, "", err
	}
	var want tree.ID
	for i, commit := range commits {
		id, err := repo.FolderID(commit, p.folder)
		if err != nil {
			return nil, "", err
		}
		if i == 0 {
			want = id
		}
		if id != want {
			return same, commit, nil
		}
		same = append(same, commit)
	}
	return same[:min(maxSameOutputs, len(same))], "", nil
}

// readReports sets what clusters have reported of the output branch, and the names of those that do not count: those that
// say they are of the environment, and have lately reported something else alone, and those that are excluded from it.
func (m *Promoter) readReports(s *stageState, f *gate.Facts) {
	f.Reports, f.Uncounted, f.Excluded, f.Untyped, f.Away = nil, nil, nil, nil, nil
	if m.options.Inbox == nil || s.output.remote == nil || s.output.head == "" {
		return
	}
	alone := len(m.sharingEnvironments(s)) == 0
	judged := map[judgedCommit]judgement{}
	counted := map[string]bool{} // whether a cluster has reported the output branch
	excluded, untyped, typed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	isOfWave := map[string]bool{}
	for _, t := range s.waveTypes {
		isOfWave[t] = true
	}
	f.Reports = m.options.Inbox.Reports(func(e observe.Event) (current, ok bool) {
		elsewhere := e.Branch != "" && e.Branch != s.output.branch
		if elsewhere && (strings.HasPrefix(e.Object, "Terraform/") || strings.HasPrefix(e.Object, "GitRepository/")) {
			return false, false // it runs, or is the source of, a root module, which has a branch of its own
		}
		if s.waveTypes != nil && !isOfWave[e.ClusterType] {
			if e.ClusterType == "" && e.Commit != "" && e.Environment == s.spec.Name && m.now.Sub(e.When) < staleClusterAfter {
				untyped[e.Cluster] = true
			}
			typed[e.Cluster] = typed[e.Cluster] || e.ClusterType != ""
			return false, false
		}
		if e.Commit == "" || e.Environment != s.spec.Name && (e.Environment != "" || elsewhere || !alone) {
			return false, false
		}
		key := judgedCommit{e.Commit, e.ClusterType}
		j, known := judged[key]
		if !known {
			j = s.output.judgeCommit(key)
			judged[key] = j
		}
		if s.excludes(e) {
			excluded[e.Cluster] = excluded[e.Cluster] || j.ours
			return false, false
		}
		isLate := m.now.Sub(e.When) >= staleClusterAfter
		if e.Environment == s.spec.Name && !isLate {
			counted[e.Cluster] = counted[e.Cluster] || j.ours
		}
		return j.current, j.ours && (j.current || !isLate)
	})
	if !s.silentBefore.IsZero() {
		f.Reports, f.Away = dropSilent(f.Reports, s.silentBefore)
	}
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		if !counted[name] {
			f.Uncounted = append(f.Uncounted, name)
		}
	}
	maps.DeleteFunc(untyped, func(name string, _ bool) bool {
		return typed[name] || slices.ContainsFunc(f.Reports, func(r rollout.Report) bool { return r.Source == name })
	})
	f.Untyped = slices.Sorted(maps.Keys(untyped))
	maps.DeleteFunc(excluded, func(_ string, ours bool) bool { return !ours })
	f.Excluded = slices.Sorted(maps.Keys(excluded))
}

func dropSilent(reports []rollout.Report, since time.Time) (kept []rollout.Report, silent []string) {
	latest := map[string]time.Time{}
	for _, r := range reports {
		if r.Time.After(latest[r.Source]) {
			latest[r.Source] = r.Time
		}
	}
	for name, at := range latest {
		if at.Before(since) {
			silent = append(silent, name)
		}
	}
	slices.Sort(silent)
	return slices.DeleteFunc(reports, func(r rollout.Report) bool { return latest[r.Source].Before(since) }), silent
}

type judgedCommit struct{ commit, clusterType string }

// judgement is what a report of a commit means for an output: whether the commit is of its
// repository, and holds what the head does.
type judgement struct{ ours, current bool }

// judgeCommit compares a reported commit with the head, in the folder of the cluster type: a cluster
// is not behind because those of another type got something new. A report without a cluster type, or
// with one that has no folder, is held to the whole folder of the environment.
func (p outputLocation) judgeCommit(c judgedCommit) judgement {
	mirror := p.remote.Mirror()
	if _, err := mirror.Commit(c.commit); err != nil {
		return judgement{}
	}
	if c.clusterType != "" && !strings.Contains(c.clusterType, "/") {
		folder := path.Join(p.folder, c.clusterType)
		ours, err := mirror.FolderID(p.head, folder)
		if err == nil && ours != (tree.Tree{}).ID() {
			theirs, err := mirror.FolderID(c.commit, folder)
			return judgement{ours: true, current: err == nil && theirs == ours}
		}
	}
	return judgement{ours: true, current: p.holdsSameOutput(c.commit)}
}

// findLostReports returns whether reports of an environment were lost, within the time in which a
// cluster that is silent is still required.
func (m *Promoter) findLostReports(s *stageState) gate.LostReports {
	if m.options.Inbox == nil {
		return gate.LostReports{}
	}
	loss, ok := m.options.Inbox.FindLoss(s.spec.Name, m.now.Add(-staleClusterAfter))
	switch {
	case !ok:
		return gate.LostReports{}
	case loss.IsPending:
		return gate.LostReports{Reason: loss.Reason}
	}
	return gate.LostReports{Reason: loss.Reason, Until: loss.Time.Add(staleClusterAfter)}
}

// staleClusterAfter is how long a cluster that is silent about this commit is still required. Flux
// reports every commit that changes something, and nothing reports a removed cluster.
const staleClusterAfter = 7 * 24 * time.Hour

// sharingEnvironments returns the environments with their output on the same branch: a report that
// does not name its environment could be of any of them.
func (m *Promoter) sharingEnvironments(s *stageState) []string {
	var names []string
	for name, e := range m.environments {
		if name != s.spec.Name && e.Branch == s.output.branch && m.options.Remotes.KnownRemote(m.options.Remotes.ReadLocation(e.Repo)) == s.output.remote {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (p outputLocation) holdsSameOutput(commit string) bool {
	theirs, err := p.remote.Mirror().FolderID(commit, p.folder)
	if err != nil { // it is of another repository, or gone
		return false
	}
	ours, err := p.remote.Mirror().FolderID(p.head, p.folder)
	return err == nil && theirs == ours
}

func approvalReaderOf(r *repos.Remote) (forge.ApprovalReader, error) {
	if r == nil {
		return nil, nil
	}
	f, err := r.Forge()
	known, _ := f.(forge.ApprovalReader)
	return known, err
}

func (m *Promoter) readApprovals(ctx context.Context, s *stageState, f *gate.Facts) error {
	asked, err := approvalReaderOf(m.options.Remotes.RemoteOf(s.branch.URL))
	if err != nil || asked == nil {
		return err
	}
	given := len(f.Approvals)
	if f.Pull != nil {
		all, err := asked.Approvals(ctx, f.Pull.Number)
		if err != nil {
			return err
		}
		pull := *f.Pull
		for i := range all {
			all[i].Location, all[i].Login = fmt.Sprintf("pull request %d", pull.Number), all[i].Approver
		}
		pull.Approvals = all
		f.Pull, given = &pull, given+len(all)
	}
	if given == 0 { // no login is read
		return nil
	}
	f.Approvals, err = m.withLogins(ctx, s, f.Approvals)
	if err != nil {
		return err
	}
	coming, err := s.readCandidateCommits(f.Commit)
	if err != nil || coming.tooMany { // without authors no approver is known to be another person
		f.Authors = nil
		return err
	}
	f.Authors, err = m.readAuthors(coming.commits, func(commit string) (string, error) { return m.authorOf(ctx, m.options.Remotes.ControlPlane(), commit) })
	return err
}

// withLogins returns approvals in files with the logins of those who committed them, where the
// forge knows their addresses.
func (m *Promoter) withLogins(ctx context.Context, s *stageState, files []gate.Approval) ([]gate.Approval, error) {
	all := slices.Clone(files)
	for i, a := range all {
		login, err := m.authorOf(ctx, m.options.Remotes.RemoteOf(s.branch.URL), a.Commit)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return files, err
		}
		all[i].Login = cmp.Or(login, a.Login)
	}
	return all, nil
}

// authorOf returns the login of a commit's author, where the forge knows it. It never changes.
func (m *Promoter) authorOf(ctx context.Context, repo *repos.Remote, commit string) (string, error) {
	m.mu.Lock()
	known, ok := m.logins[commit]
	m.mu.Unlock()
	if ok {
		return known, nil
	}
	asked, err := approvalReaderOf(repo)
	if err != nil || asked == nil {
		return "", err
	}
	login, err := asked.CommitAuthor(ctx, commit)
	if err != nil || login == "" { // a person may still open an account with that address
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.logins) > maxAnswers {
		clear(m.logins)
	}
	m.logins[commit] = login
	return login, nil
}

func (m *Promoter) readTeamMembers(ctx context.Context, team string, f *gate.Facts) error {
	asked, err := approvalReaderOf(m.options.Remotes.ControlPlane())
	if err != nil || asked == nil {
		return err
	}
	logins, err := asked.TeamMembers(ctx, team)
	if errors.Is(err, forge.ErrNotFound) {
		return fmt.Errorf("there is no team %s, or it may not be seen", team)
	}
	if err != nil {
		return err
	}
	f.Teams[team] = logins
	return nil
}

func (m *Promoter) askServer(ctx context.Context, need gate.Need) gate.Answer {
	asked := fmt.Sprintf("%s %s %x", need.URL, need.Secret, sha256.Sum256(need.Body))
	m.mu.Lock()
	last, ok := m.answers[asked]
	m.mu.Unlock()
	if ok && m.now.Before(last.Time.Add(need.MaxAge)) {
		return last
	}
	a := observe.ProbeURL(ctx, http.DefaultClient, m.options.Settings.Probe, need, m.now)
	a.URL = need.URL
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.answers) > maxAnswers {
		clear(m.answers)
	}
	m.answers[asked] = a
	return a
}

const maxAnswers = 1000

func (m *Promoter) runWorkflow(ctx context.Context, need gate.Need, f gate.Facts) (gate.Answer, error) {
	remote := m.options.Remotes.ControlPlane()
	if remote == nil || !isWriting(m) {
		return gate.Answer{Reason: "writing is off"}, nil
	}
	ctx, leave := m.options.Enter(ctx, "") // environments may wait for the same run
	defer leave()
	found, err := remote.Forge()
	if err != nil {
		return gate.Answer{}, err
	}
	dispatcher, _ := found.(forge.Dispatcher)
	m.options.BeforeEffect("run " + need.Workflow)
	runs := observe.WorkflowRunner{Dispatcher: dispatcher, SetStatus: found.SetStatus, Branch: m.options.Settings.ControlPlane.Branch}
	if witness, ok := found.(forge.StatusReader); ok { // another daemon may be faster than this look
		runs.Statuses = witness.Statuses
	}
	return runs.Advance(ctx, f.Commit, need, f.BaseStatuses, m.now), nil
}
