package promoter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// maxRoundsOfNeeds bounds how often gates may ask for more because of what they were
// told.
const maxRoundsOfNeeds = 4

// find finds out what gates need to know. What cannot be found out stays unknown, and
// unknown is waited for; the first reason is that of the standing.
func (m *Mover) find(ctx context.Context, s *standing, gates *gate.Set, f gate.Facts) gate.Facts {
	done := map[string]bool{}
	for range maxRoundsOfNeeds {
		more := false
		for _, need := range gates.Needs(f) {
			if done[need.Key] {
				continue
			}
			done[need.Key], more = true, true
			var err error
			if f, err = m.answer(ctx, s, need, f); err != nil {
				s.fail(fmt.Errorf("%s: %w", need.Key, err))
				f = withAnswer(f, need.Key, gate.Answer{Reason: err.Error()})
			}
		}
		if !more {
			break
		}
	}
	return f
}

// answer finds out one thing.
func (m *Mover) answer(ctx context.Context, s *standing, need gate.Need, f gate.Facts) (gate.Facts, error) {
	switch need.Kind {
	case gate.BaseStatuses, gate.Dispatch: // what a workflow has come to is written there
		said, err := m.statements(ctx, m.Remotes.ControlPlane(), f.Commit)
		if f.BaseStatuses = said; err != nil || need.Kind == gate.BaseStatuses {
			return f, err
		}
	case gate.OutputStatuses:
		return m.ofOutput(ctx, s, f)
	case gate.Clusters:
		f.Reports = m.reports(s)
		return f, nil
	case gate.Approvals:
		return m.approvalsOf(ctx, s, f)
	case gate.Members:
		return m.members(ctx, need.Team, f)
	}
	var a gate.Answer
	var err error
	if need.Kind == gate.HTTP {
		a = m.ask(ctx, need)
	} else {
		a, err = m.workflow(ctx, need, f)
	}
	if err == nil {
		f = withAnswer(f, need.Key, a)
	}
	return f, err
}

// withAnswer gives facts with one more answer.
func withAnswer(f gate.Facts, key string, a gate.Answer) gate.Facts {
	answers := maps.Clone(f.Answers)
	if answers == nil {
		answers = map[string]gate.Answer{}
	}
	answers[key] = a
	f.Answers = answers
	return f
}

// maxSame bounds how many commits of an output branch are asked about that hold the
// same.
const maxSame = 5

// ofOutput collects what was said of the commits that hold the output: others may have
// pushed beside it since the clusters said so of an older one. The newest counts. Who
// has said something of the output before, will be waited for.
func (m *Mover) ofOutput(ctx context.Context, s *standing, f gate.Facts) (gate.Facts, error) {
	f.OutputStatuses, f.PreviousStatuses = nil, nil
	f.OtherEnvironments = m.others(s)
	if f.OutputCommit == "" {
		return f, nil
	}
	same, before, err := s.output.line()
	if err != nil {
		return f, err
	}
	for _, commit := range same {
		said, err := m.statements(ctx, s.output.remote, commit)
		if err != nil {
			return f, err
		}
		for _, st := range said {
			if !slices.ContainsFunc(f.OutputStatuses, func(k gate.CommitStatus) bool { return k.Context == st.Context }) {
				f.OutputStatuses = append(f.OutputStatuses, st)
			}
		}
	}
	if before != "" {
		f.PreviousStatuses, err = m.saidBefore(ctx, s, before, f.OutputStatuses)
	}
	return f, err
}

// past is what was said of an output that another one has followed, when there was
// something new to hear of that.
type past struct {
	commit      string
	said, since []gate.CommitStatus
}

// saidBefore gives what was said of the output before. Who has spoken of it matters
// only when somebody speaks of the one that followed, so it is asked again only then.
func (m *Mover) saidBefore(ctx context.Context, s *standing, commit string, since []gate.CommitStatus) ([]gate.CommitStatus, error) {
	m.mu.Lock()
	known := m.pasts[s.spec.Name]
	m.mu.Unlock()
	if known.commit == commit && slices.Equal(known.since, since) {
		return known.said, nil
	}
	said, err := m.statements(ctx, s.output.remote, commit)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pasts[s.spec.Name] = past{commit, said, since}
	return said, nil
}

// line gives the head of an output branch with the commits before it that hold the same
// in the folder, and the newest that holds something else; "" if that is far back.
func (p place) line() (same []string, before string, err error) {
	repo := p.remote.Mirror()
	commits, err := repo.FirstParents(p.head, maxSame+1, func(string) bool { return false })
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
	return same[:min(maxSame, len(same))], "", nil
}

// reports gives what clusters have reported of the output branch.
func (m *Mover) reports(s *standing) []rollout.Report {
	if m.Inbox == nil || s.output.remote == nil || s.output.head == "" {
		return nil
	}
	alone := len(m.others(s)) == 0
	holds := map[string]bool{} // by commit, whether it holds what the head does
	return m.Inbox.Reports(func(e observe.Event) (current, ok bool) {
		elsewhere := e.Branch != "" && e.Branch != s.output.branch
		if e.Environment != s.spec.Name && (e.Environment != "" || elsewhere || !alone) {
			return false, false
		}
		if _, err := s.output.remote.Mirror().Commit(e.Commit); err != nil { // it is of another repository
			return false, false
		}
		same, known := holds[e.Commit]
		if !known {
			same = s.output.holds(e.Commit)
			holds[e.Commit] = same
		}
		return same, same || m.round.Sub(e.When) < gone
	})
}

// gone is after how long a cluster is not waited for that says nothing of this commit:
// Flux tells of every commit that changes something, and of a cluster that is no more
// nobody tells.
const gone = 7 * 24 * time.Hour

// others gives the environments that have their output on the same branch, so that a
// report which does not say whose it is could be of any of them.
func (m *Mover) others(s *standing) []string {
	var names []string
	for _, e := range m.environments {
		if e.Name != s.spec.Name && e.Output.Branch == s.output.branch && m.Remotes.KnownRemote(m.Remotes.ReadLocation(e.Output.Repo)) == s.output.remote {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// holds reports whether a commit holds the same as the head in the folder of the
// environment.
func (p place) holds(commit string) bool {
	theirs, err := p.remote.Mirror().FolderID(commit, p.folder)
	if err != nil { // it is of another repository, or gone
		return false
	}
	ours, err := p.remote.Mirror().FolderID(p.head, p.folder)
	return err == nil && theirs == ours
}

// approver gives the forge of a repository as one that knows who people are; nil if it
// does not, or the repository is not known.
func approver(r *repos.Remote) (forge.ApprovalReader, error) {
	if r == nil {
		return nil, nil
	}
	f, err := r.Forge()
	if err != nil {
		return nil, err
	}
	known, _ := f.(forge.ApprovalReader)
	return known, nil
}

// approvalsOf adds what people have approved on the pull request.
func (m *Mover) approvalsOf(ctx context.Context, s *standing, f gate.Facts) (gate.Facts, error) {
	asked, err := approver(m.Remotes.RemoteOf(s.branch.URL))
	if err != nil || asked == nil {
		return f, err
	}
	given := len(f.Approvals)
	if f.Pull != nil {
		all, err := asked.Approvals(ctx, f.Pull.Number)
		if err != nil {
			return f, err
		}
		pull := *f.Pull
		for i := range all {
			all[i].Location, all[i].Login = fmt.Sprintf("pull request %d", pull.Number), all[i].Approver
		}
		pull.Approvals = all
		f.Pull, given = &pull, given+len(all)
	}
	if given == 0 { // nobody's login is looked at
		return f, nil
	}
	if f.Approvals, err = m.withLogins(ctx, s, f.Approvals); err != nil {
		return f, err
	}
	coming, err := s.coming(f.Commit)
	if err != nil || coming == nil { // without authors nobody is known to be another one
		f.Authors = nil
		return f, err
	}
	f.Authors = slices.Clone(f.Authors)
	for _, c := range coming {
		author, err := m.authorOf(ctx, m.Remotes.ControlPlane(), c.ID)
		if err != nil {
			f.Authors = nil
			return f, err
		}
		if author != "" && !slices.Contains(f.Authors, author) {
			f.Authors = append(f.Authors, author)
		}
	}
	return f, nil
}

// withLogins returns approvals that are files with the logins of who brought them, where the
// forge knows whose their addresses are.
func (m *Mover) withLogins(ctx context.Context, s *standing, files []gate.Approval) ([]gate.Approval, error) {
	all := slices.Clone(files)
	for i, a := range all {
		login, err := m.authorOf(ctx, m.Remotes.RemoteOf(s.branch.URL), a.Commit)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return files, err
		}
		all[i].Login = login
	}
	return all, nil
}

// authorOf gives the login of who wrote a commit, where the forge knows. A commit keeps its
// author.
func (m *Mover) authorOf(ctx context.Context, repo *repos.Remote, commit string) (string, error) {
	m.mu.Lock()
	known, ok := m.logins[commit]
	m.mu.Unlock()
	if ok {
		return known, nil
	}
	asked, err := approver(repo)
	if err != nil || asked == nil {
		return "", err
	}
	login, err := asked.CommitAuthor(ctx, commit)
	if err != nil || login == "" { // somebody may still open an account with that address
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

func (m *Mover) members(ctx context.Context, team string, f gate.Facts) (gate.Facts, error) {
	asked, err := approver(m.Remotes.ControlPlane())
	if err != nil || asked == nil {
		return f, err
	}
	logins, err := asked.TeamMembers(ctx, team)
	if errors.Is(err, forge.ErrNotFound) {
		return f, fmt.Errorf("there is no team %s, or it may not be seen", team)
	}
	if err != nil {
		return f, err
	}
	teams := map[string][]string{team: logins}
	for name, known := range f.Teams {
		teams[name] = known
	}
	f.Teams = teams
	return f, nil
}

// ask asks an HTTP server, unless its last answer is young enough.
func (m *Mover) ask(ctx context.Context, need gate.Need) gate.Answer {
	asked := need.URL + " " + need.Secret
	m.mu.Lock()
	last, ok := m.answers[asked]
	m.mu.Unlock()
	if ok && m.round.Before(last.Time.Add(need.MaxAge)) {
		return last
	}
	a := observe.ProbeURL(ctx, http.DefaultClient, m.Settings.Probe, need, m.round)
	a.URL = need.URL
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.answers) > maxAnswers {
		clear(m.answers)
	}
	m.answers[asked] = a
	return a
}

// maxAnswers bounds the answers of HTTP servers that are remembered.
const maxAnswers = 1000

// workflow has a workflow run once for a commit, and gives what became of it.
func (m *Mover) workflow(ctx context.Context, need gate.Need, f gate.Facts) (gate.Answer, error) {
	remote := m.Remotes.ControlPlane()
	if remote == nil || !m.Settings.Write {
		return gate.Answer{Reason: "writing is off"}, nil
	}
	found, err := remote.Forge()
	if err != nil {
		return gate.Answer{}, err
	}
	dispatcher, _ := found.(forge.Dispatcher)
	m.Step("run " + need.Workflow)
	runs := observe.WorkflowRunner{Dispatcher: dispatcher, SetStatus: found.SetStatus, Branch: m.Settings.ControlPlane.Branch}
	if witness, ok := found.(forge.StatusReader); ok { // another daemon may be faster than this look
		runs.Statuses = witness.Statuses
	}
	return runs.Advance(ctx, f.Commit, need, f.BaseStatuses, m.round), nil
}

// enter says whether a commit may enter an environment.
func (m *Mover) enter(ctx context.Context, s *standing, to string) gate.Verdict {
	f := gate.Facts{Now: m.round, Environment: s.spec.Name, Commit: to, Freezes: gate.ReadFreezes(s.base.Progress)}
	err := m.factsOfCandidate(ctx, s, &f)
	if err != nil {
		s.fail(err)
		return gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: "it cannot be found out: " + err.Error()}
	}
	f = m.find(ctx, s, &s.enterGates, f)
	gates := s.enterGates.Evaluate(f)
	return gate.CombineVerdicts("gates", append([]gate.Verdict{gate.EvaluateFreezes(f)}, gates.Parts...))
}

func (m *Mover) factsOfCandidate(ctx context.Context, s *standing, f *gate.Facts) (err error) {
	if len(s.enterGates.Gates) == 0 {
		return nil
	}
	if f.Approvals, err = Approvals(s.branch, f.Commit); err != nil {
		return err
	}
	coming, err := s.coming(f.Commit)
	if err != nil {
		return err
	}
	f.Authors = authors(coming)
	if s.spec.Record == byPull {
		f.Pull, err = m.recordPull(ctx, s, f.Commit)
	}
	return err
}

// maxAuthors bounds the commits whose authors are looked at.
const maxAuthors = 100

// coming gives the commits that come with a commit to the environment; nil, and so nobody
// who has written them, if they are more than are looked at.
func (s *standing) coming(commit string) ([]git.CommitInfo, error) {
	if s.with.commit == commit {
		return s.with.coming, nil
	}
	coming, err := s.base.Repo.CommitsBetween(s.stage.Commit, commit, maxAuthors+1)
	if err != nil {
		return nil, err
	}
	if len(coming) > maxAuthors {
		coming = nil
	} else if coming == nil {
		coming = []git.CommitInfo{}
	}
	s.with.commit, s.with.coming = commit, coming
	return coming, nil
}

// authors gives the names and addresses of who wrote commits.
func authors(commits []git.CommitInfo) []string {
	var all []string
	for _, c := range commits {
		for _, name := range []string{c.Author.Email, c.Author.Name} {
			if name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}
