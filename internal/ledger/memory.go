package ledger

import (
	"cmp"
	"math"
	"time"
	"unique"
)

// memory is what is kept of an object: the newest reports of some kinds. Each is a maximum, and
// the state follows from them, so that the order of arrival does not matter.
type memory struct {
	group   unique.Handle[Group]  // of the newest report
	message unique.Handle[string] // of decisive, or its plan: see JoinDetail
	// decisive is the newest report of a phase that is not Progressing.
	decisive point
	// progress are the newest reports of Progressing with two different revisions, the newest
	// first. One of them differs from any revision, which is what has to be known: see isOverdue.
	progress [2]point
	check    point  // the newest of Checking
	runs     point  // the newest that states the revision that runs
	target   point  // the newest that states which revision it is about
	grouped  uint32 // when the newest of all was said
	// named is the newest that says which application is in the revision that runs, which is app.
	named point
	app   unique.Handle[string]
}

// point is what orders and counts of a report. Its text is interned: many objects have the same.
type point struct {
	revision unique.Handle[string]
	said     uint32 // Unix seconds, until 2106; 0 for no report
	rank     uint8  // orders the reports of one second
	phase    Phase
}

// levelRank is added to the rank of a report that is a level.
const levelRank = 8

// phaseRanks order the events of one second: the worse counts.
var phaseRanks = [...]uint8{Unstated: 0, Checking: 0, Progressing: 1, Unknown: 2, Suspended: 3, Ready: 4, Waiting: 5, Drifted: 6, Failed: 7}

// newPoint returns the point of a report for a phase and a revision.
func newPoint(r Report, phase Phase, revision string) point {
	p := point{revision: unique.Make(revision), said: unixSeconds(r.Said), rank: phaseRanks[phase], phase: phase}
	if r.Level {
		p.rank += levelRank
	}
	return p
}

// isAfter reports whether p is newer than q. Two different points are never both newer.
func (p point) isAfter(q point) bool {
	if p.said != q.said || p.rank != q.rank || p.said == 0 {
		return cmp.Or(cmp.Compare(p.said, q.said), cmp.Compare(p.rank, q.rank)) > 0
	}
	return p.revision.Value() > q.revision.Value()
}

// keepNewest puts a point in the place of an older one, and reports whether it did.
func (p *point) keepNewest(other point) bool {
	newer := other.isAfter(*p)
	if newer {
		*p = other
	}
	return newer
}

// fold takes in a report that is not empty.
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

// addApp takes in which application is in a revision that runs.
func (m *memory) addApp(p point, app string) {
	if app != "" && (m.named.keepNewest(p) || p == m.named && app > m.app.Value()) {
		m.app = unique.Make(app)
	}
}

// detail returns what JoinDetail does of decisive.
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

// current returns the point that says what the object does now.
func (m *memory) current() point {
	if m.progress[0].isOverdue(m.decisive) || m.progress[1].isOverdue(m.decisive) {
		return m.progress[0]
	}
	if m.check.said > m.decisive.said && m.check.revision != m.decisive.revision { // what it has settled was not reported
		return point{m.check.revision, m.check.said, m.check.rank, Progressing}
	}
	return m.decisive
}

// holds reports whether an object that is at work on the same revision again stays in a phase.
func (p Phase) holds() bool { return p == Ready || p == Failed }

// isOverdue reports whether a point of Progressing shows that a decisive one is out of date. It
// does not if the object was ready at that very revision: its cluster only mends what a person
// changed there, of which Flux does not say when it is done. Nor does it if the object has failed at
// that revision: Flux only tries again. Within one second it does if the revision is another one: a
// cluster often goes on to the next one at once.
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

// state returns what is known.
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

// unixSeconds returns a time in seconds since 1970, within the years that those have.
func unixSeconds(t time.Time) uint32 { return uint32(min(max(t.Unix(), 0), math.MaxUint32)) }

// timeOf is the inverse of unixSeconds; 0 stands for the zero time.
func timeOf(seconds uint32) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// reports returns the fewest reports that fold into the same state, now and with whatever comes.
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
	targeted := false // by one of the reports
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

// states reports whether a point of runs or target comes from the same report as one of a phase.
func (p point) states(of point) bool {
	return p.said == of.said && p.revision == of.revision && (p.rank >= levelRank) == (of.rank >= levelRank)
}
