package ledger

import (
	"cmp"
	"math"
	"time"
	"unique"
)

// memory keeps the newest report of each kind, from which the state follows. So the order of
// arrival does not matter.
type memory struct {
	group   unique.Handle[Group]
	message unique.Handle[string]
	// decisive is the newest that is neither Progressing nor Checking.
	decisive point
	// progress has the newest Progressing reports of two revisions, so that one differs from any
	// given revision: see isOverdue.
	progress [2]point
	check    point
	runs     point // newest with Runs
	target   point // newest with Target
	grouped  uint32
	// named is the newest with the application version app.
	named point
	app   unique.Handle[string]
}

// point is the part of a report that orders it. Revisions are interned, because many objects share
// them.
type point struct {
	revision unique.Handle[string]
	said     uint32 // Unix seconds, until 2106; 0 for no report
	rank     uint8
	phase    Phase
}

// levelRank puts levels above events.
const levelRank = 8

// phaseRanks order the events of one second, the worst last.
var phaseRanks = [...]uint8{Unstated: 0, Checking: 0, Progressing: 1, Unknown: 2, Suspended: 3, Ready: 4, Waiting: 5, Drifted: 6, Failed: 7}

func newPoint(r Report, phase Phase, revision string) point {
	p := point{revision: unique.Make(revision), said: unixSeconds(r.Said), rank: phaseRanks[phase], phase: phase}
	if r.Level {
		p.rank += levelRank
	}
	return p
}

func (p point) isAfter(q point) bool {
	if p.said != q.said || p.rank != q.rank || p.said == 0 {
		return cmp.Or(cmp.Compare(p.said, q.said), cmp.Compare(p.rank, q.rank)) > 0
	}
	return p.revision.Value() > q.revision.Value()
}

func (p *point) keepNewest(other point) bool {
	newer := other.isAfter(*p)
	if newer {
		*p = other
	}
	return newer
}

// fold requires a report that is not empty.
func (m *memory) fold(r Report) {
	switch r.Phase {
	case Unstated:
	case Progressing:
		m.addProgress(newPoint(r, r.Phase, r.Target))
	case Checking:
		m.check.keepNewest(newPoint(r, r.Phase, r.Target))
	default:
		m.addDecisive(newPoint(r, r.Phase, r.Target), r)
	}
	if r.Phase == Ready {
		r.Runs = r.Target
	}
	if r.Runs != "" {
		m.runs.keepNewest(newPoint(r, Unstated, r.Runs))
		m.addApp(newPoint(r, Unstated, r.Runs), r.App)
	}
	if r.Target != "" {
		m.target.keepNewest(newPoint(r, Unstated, r.Target))
	}
	said := unixSeconds(r.Said)
	if said > m.grouped || said == m.grouped && r.Group.compare(m.group.Value()) > 0 {
		m.group, m.grouped = unique.Make(r.Group), said
	}
}

func (m *memory) addDecisive(p point, r Report) {
	detail := JoinDetail(r.Phase, r.Message, r.Plan)
	if m.decisive.keepNewest(p) || p == m.decisive && detail > m.detail() {
		m.message = unique.Make(detail)
	}
}

func (m *memory) addApp(p point, app string) {
	if app != "" && (m.named.keepNewest(p) || p == m.named && app > m.app.Value()) {
		m.app = unique.Make(app)
	}
}

func (m *memory) detail() string {
	if m.decisive.said == 0 {
		return ""
	}
	return m.message.Value()
}

func (m *memory) addProgress(p point) {
	newest, second := &m.progress[0], &m.progress[1]
	switch {
	case p.revision == newest.revision:
		newest.keepNewest(p)
	case p.isAfter(*newest):
		*second, *newest = *newest, p
	default:
		second.keepNewest(p)
	}
}

func (m *memory) current() point {
	if m.progress[0].isOverdue(m.decisive) || m.progress[1].isOverdue(m.decisive) {
		return m.progress[0]
	}
	if m.check.said > m.decisive.said && m.check.revision != m.decisive.revision { // the settled state was not reported
		return point{m.check.revision, m.check.said, m.check.rank, Progressing}
	}
	return m.decisive
}

func (p Phase) holds() bool { return p == Ready || p == Failed }

// isOverdue reports whether Progressing outdates a decisive point. At the same revision, Flux
// reverts manual changes after Ready without reporting the end, and retries after Failed. Within
// one second, another revision outdates it: clusters often start the next one at once.
func (p point) isOverdue(decisive point) bool {
	switch {
	case p.said == 0 || p.said < decisive.said:
		return false
	case p.said == decisive.said && p.rank < levelRank && decisive.rank >= levelRank:
		return false
	case p.said == decisive.said:
		return p.revision != decisive.revision
	}
	return !decisive.phase.holds() || p.revision != decisive.revision
}

func (m *memory) state() State {
	now := m.current()
	s := State{Phase: now.phase, Revision: m.runs.text(), Said: now.time()}
	if m.grouped > 0 {
		s.Group = m.group.Value()
	}
	switch target := cmp.Or(now.text(), m.target.text()); {
	case now.phase == Ready:
		s.Revision = now.text()
	case target != s.Revision:
		s.Attempted = target
	}
	if now == m.decisive {
		s.Message, s.Plan = SplitDetail(now.phase, m.detail())
	}
	if m.named.said > 0 && m.named.text() == s.Revision {
		s.App = m.app.Value()
	}
	return s
}

func (p point) text() string {
	if p.said == 0 {
		return ""
	}
	return p.revision.Value()
}

func (p point) time() time.Time { return timeOf(p.said) }

func unixSeconds(t time.Time) uint32 { return uint32(min(max(t.Unix(), 0), math.MaxUint32)) }

func timeOf(seconds uint32) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

func (m *memory) reports(o Object) []Report {
	var all []Report
	app := m.state().App
	add := func(p point, r Report) {
		if app != "" && (r.Runs == m.named.text() || r.Phase == Ready && r.Target == m.named.text()) {
			r.App = app
		}
		r.Object, r.Group, r.Said, r.Level = o, m.group.Value(), p.time(), p.rank >= levelRank
		all = append(all, r)
	}
	targeted := false
	if m.decisive.said > 0 {
		message, plan := SplitDetail(m.decisive.phase, m.detail())
		add(m.decisive, Report{Phase: m.decisive.phase, Target: m.decisive.text(), Message: message, Plan: plan})
		targeted = m.target.states(m.decisive)
	}
	for _, p := range m.progress {
		if p.said > 0 && p.said >= m.decisive.said {
			add(p, Report{Phase: Progressing, Target: p.text()})
			targeted = targeted || m.target.states(p)
		}
	}
	if m.check.said > m.decisive.said {
		add(m.check, Report{Phase: Checking, Target: m.check.text()})
		targeted = targeted || m.target.states(m.check)
	}
	if m.runs.said > 0 && !(m.decisive.phase == Ready && m.runs.states(m.decisive)) {
		add(m.runs, Report{Runs: m.runs.text()})
	}
	if m.target.said > 0 && !targeted {
		add(m.target, Report{Target: m.target.text()})
	}
	return all
}

func (p point) states(of point) bool {
	return p.said == of.said && p.revision == of.revision && (p.rank >= levelRank) == (of.rank >= levelRank)
}
