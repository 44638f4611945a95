package lane

import (
	"cmp"
	"maps"
	"slices"
)

// checkGroups finds out which groups may move, one after the other: first those that are verified, then what else could.
// Groups that may not move alone may be able to move in one step.
func (d *decider) checkGroups() (err error) {
	d.moved = map[string]string{}
	states := []State{Moves, Independent}
	if d.VerifiedOnly {
		states = states[:1]
	}
	if !slices.ContainsFunc(states, func(state State) bool { return len(d.groupsOf(state)) > 0 }) {
		return nil
	}
	d.now, err = d.renderAt(d.stage.Composition())
	var waiting [][]*move
	for _, state := range states {
		var failed [][]*move
		for _, group := range append(waiting, d.groupsOf(state)...) {
			reason := Reason{}
			if err == nil {
				reason, err = d.tryGroup(group, state)
			}
			if reason.Kind != "" {
				failed = append(failed, group)
			}
		}
		waiting = nil
		for err == nil && len(failed) > 0 {
			var moved bool
			first := failed[0]
			moved, failed, err = d.uniteGroups(first, failed[1:], state)
			if !moved {
				waiting = append(waiting, first)
			}
		}
	}
	return err
}

func (d *decider) groupsOf(state State) (found [][]*move) {
	for _, group := range d.groups {
		whole := Moves
		for _, m := range group {
			m.alone = m.Decision
			if m.State == Independent {
				whole = Independent
			}
		}
		if whole == state {
			found = append(found, group)
		}
	}
	return found
}

// tryGroup moves a group if it may, and returns the reason if not. Its lanes are then in a state, or not verified themselves.
func (d *decider) tryGroup(group []*move, state State) (Reason, error) {
	then, reason, err := d.checkGroup(group)
	for _, m := range group {
		m.Decision = m.alone
		if reason.Kind != "" {
			m.State, m.Reason = Waits, reason
			continue
		}
		for _, other := range group {
			if other != m {
				m.With = append(m.With, other.Lane)
			}
		}
		slices.Sort(m.With)
		if state == Independent && m.State == Moves { // with others that are not verified
			m.State, m.Reason = Independent, Reason{Kind: Unreported, Environment: append(d.environmentsBefore(), d.stage.Name)[0]}
		}
	}
	if err == nil && reason.Kind == "" {
		d.now = then
		for _, m := range group {
			d.moved[m.Lane] = m.Candidate
		}
	}
	return reason, err
}

// uniteGroups adds to a group that may not move alone what it lacks of others, and moves that if it may. It returns the groups
// that are left.
func (d *decider) uniteGroups(group []*move, others [][]*move, state State) (moved bool, left [][]*move, err error) {
	union, left := slices.Clone(group), slices.Clone(others)
	_, reason, err := d.checkGroup(union) // others may have moved since it was checked
	for err == nil && reason.Kind != "" {
		wanted := func(m *move) bool { return m.Lane == reason.Lane }
		if reason.Kind != Shared && !slices.ContainsFunc(slices.Concat(left...), wanted) {
			wanted = func(*move) bool { return true }
		}
		before := len(union)
		left = slices.DeleteFunc(left, func(g []*move) bool {
			is := slices.ContainsFunc(g, wanted)
			if is {
				union = append(union, g...)
			}
			return is
		})
		if len(union) == before {
			return false, others, nil
		}
		_, reason, err = d.checkGroup(union)
	}
	if err == nil {
		_, err = d.tryGroup(union, state)
	}
	return true, left, err
}

func (d *decider) compose(group []*move) Composition {
	versions := maps.Clone(d.moved)
	for _, m := range group {
		versions[m.Lane] = m.Candidate
	}
	return d.stage.Composition().move(versions, d.History.Lanes())
}

// Move returns a base in which one lane has another version.
func (h History) Move(c Composition, lane, version string) Composition {
	return h.Settle(c.move(map[string]string{lane: version}, h.Lanes()))
}

// move returns a composition in which some lanes have other versions. all are the lanes that a commit of the platform would move.
func (c Composition) move(versions map[string]string, all []string) Composition {
	next := Composition{Platform: cmp.Or(versions[Platform], c.Platform), Lanes: map[string]string{}}
	maps.Copy(next.Lanes, c.Lanes)
	maps.Copy(next.Lanes, versions)
	if next.Platform != c.Platform {
		for _, lane := range all {
			next.Lanes[lane] = cmp.Or(next.Lanes[lane], c.Platform)
		}
	}
	delete(next.Lanes, Platform)
	return next
}

// checkGroup returns what the environment would be if a group moved in one step, and why it must not; the zero Reason if it may.
func (d *decider) checkGroup(group []*move) (then Output, reason Reason, err error) {
	if d.now.Problem != "" {
		return then, Reason{Kind: Unrendered, Text: d.now.Problem}, nil
	}
	then, err = d.Render(d.compose(group))
	if err != nil || then.Problem != "" {
		return then, Reason{Kind: Unrendered, Text: then.Problem}, err
	}
	changed := changedOwners(d.now, then)
	for _, lane := range slices.Sorted(maps.Keys(changed)) {
		if _, moved := d.moved[lane]; !hasLane(group, Platform) && !hasLane(group, lane) && hasLane(d.moves, lane) && !moved {
			return then, Reason{Kind: Shared, Lane: lane, Folder: changed[lane]}, nil
		}
	}
	for _, m := range group {
		for i, name := range d.environmentsBefore() {
			reason, err = d.checkContext(m, group, name, m.proven[i][m.Candidate], then, changed)
			if err != nil || reason.Kind != "" {
				return then, reason, err
			}
		}
	}
	return then, Reason{}, nil
}

// checkContext returns why the objects that a lane changes are not those that an environment has verified; the zero value if they
// are. They are compared as this environment would have them with all lanes at a commit of the base that was verified.
func (d *decider) checkContext(m *move, group []*move, environment string, p proofs, then Output, changed map[string]string) (reason Reason, err error) {
	for _, base := range p.list() {
		commit := cmp.Or(base.Lanes[m.Lane], base.Platform)
		verified, err := d.renderAt(base)
		switch {
		case err != nil:
			return Reason{}, err
		case verified.Problem != "":
			reason = cmp.Or(reason, Reason{Kind: Unrendered, Commit: commit, Text: verified.Problem})
			continue
		}
		lane, folder := findUnverified(m, group, changed, changedOwners(then, verified))
		if lane == "" {
			return Reason{}, nil
		}
		if lane == m.Lane {
			lane = Platform
		}
		if reason.Kind != Context {
			reason = Reason{Kind: Context, Commit: commit, Environment: environment, Lane: lane, Folder: folder}
		}
	}
	return reason, nil
}

// findUnverified returns the first lane with objects that a move changes and that are different from the verified ones; "" if there is
// none. The objects of others in the group are compared for these; the platform answers for all.
func findUnverified(m *move, group []*move, changed, different map[string]string) (lane, folder string) {
	for _, lane := range slices.Sorted(maps.Keys(changed)) {
		if different[lane] != "" && (lane == m.Lane || m.Lane == Platform || !hasLane(group, lane)) {
			return lane, different[lane]
		}
	}
	return "", ""
}

func hasLane(moves []*move, lane string) bool {
	return slices.ContainsFunc(moves, func(m *move) bool { return m.Lane == lane })
}

func (d *decider) environmentsBefore() []string {
	var names []string
	for _, s := range d.Stages {
		if slices.Contains(d.stage.After, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (d *decider) renderAt(base Composition) (Output, error) {
	key := base.String()
	known, ok := d.rendered[key]
	if ok {
		return known, nil
	}
	o, err := d.Render(base)
	if err == nil {
		d.rendered[key] = o
	}
	return o, err
}
