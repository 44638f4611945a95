package ledger

import "unique"

// kept is a compact memory: for most objects everything follows from one report.
type kept struct {
	group    unique.Handle[Group]
	decisive point
	grouped  uint32
	more     *more // nil if everything follows from decisive
}

type more struct {
	message      unique.Handle[string]
	progress     [2]point
	check        point
	runs, target point
	named        point
	app          unique.Handle[string]
}

func newKept(m memory) kept {
	for i, p := range m.progress {
		if p.said < m.decisive.said {
			m.progress[i] = point{}
		}
	}
	if m.check.said <= m.decisive.said {
		m.check = point{}
	}
	if m.named.said > 0 && m.state().App == "" {
		m.named, m.app = point{}, unique.Handle[string]{}
	}
	k := kept{group: m.group, decisive: m.decisive, grouped: m.grouped}
	if m != k.memory() {
		k.more = &more{m.message, m.progress, m.check, m.runs, m.target, m.named, m.app}
	}
	return k
}

func (k *kept) memory() memory {
	m := memory{group: k.group, decisive: k.decisive, grouped: k.grouped}
	if k.more != nil {
		m.message, m.progress, m.check, m.runs, m.target = k.more.message, k.more.progress, k.more.check, k.more.runs, k.more.target
		m.named, m.app = k.more.named, k.more.app
		return m
	}
	if k.decisive.said > 0 {
		m.message = noMessage
	}
	states := k.decisive
	states.phase, states.rank = Unstated, phaseRanks[Unstated]
	if k.decisive.rank >= levelRank {
		states.rank += levelRank
	}
	if k.decisive.phase == Ready {
		m.runs = states
	}
	if k.decisive.text() != "" {
		m.target = states
	}
	return m
}

var noMessage = unique.Make("")

func (k *kept) state() State {
	m := k.memory()
	return m.state()
}
