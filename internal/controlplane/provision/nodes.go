package provision

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

func (u *unit) addNodes() (Step, bool) {
	for _, static := range []bool{false, true} {
		for _, wanted := range []action{addPool, growPool} {
			if s := findSlot(u.slots, &u.tally, wanted, static); s != nil {
				return u.enlarge(s), true
			}
		}
	}
	return Step{}, false
}

func (u *unit) removeNodes() (Step, bool) {
	return u.shrinkAny(u.slots, &u.tally)
}

func (u *unit) addBalancerNodes() (Step, bool) {
	for _, static := range []bool{false, true} {
		for _, wanted := range []action{growPool, addPool} {
			for _, b := range u.balancers {
				if s := findSlot(b.slots, &b.tally, wanted, static); s != nil && b.now != nil && b.want != nil {
					return u.enlarge(s), true
				}
			}
		}
	}
	return Step{}, false
}

func (u *unit) removeBalancerNodes() (Step, bool) {
	for _, b := range u.balancers {
		if b.now == nil || b.want == nil {
			continue
		}
		if step, ok := u.shrinkAny(b.slots, &b.tally); ok {
			return step, true
		}
	}
	return Step{}, false
}

func (u *unit) shrinkAny(slots []*slot, t *tally) (Step, bool) {
	for _, static := range []bool{false, true} {
		for _, wanted := range []action{shrinkPool, removePool} {
			if s := findSlot(slots, t, wanted, static); s != nil {
				return u.reduce(s), true
			}
		}
	}
	return Step{}, false
}

func findSlot(slots []*slot, t *tally, wanted action, static bool) *slot {
	kind := 0
	if static {
		kind = 1
	}
	if t[wanted][kind] == 0 {
		return nil
	}
	for _, s := range slots {
		if s.next == wanted && s.static == static {
			return s
		}
	}
	return nil
}

func (u *unit) enlarge(s *slot) Step {
	var reason []Change
	if s.now == nil {
		reason = append(reason, Change{s.listField(), "", s.subject.Pool}, Change{"nodes", "", s.want.describeSize()})
		added := *s.want
		s.now = &added
	} else {
		reason = append(reason, s.describeGrowth()...)
		larger := *s.now
		larger.count = max(s.now.count, s.want.count)
		if s.static {
			larger.addresses = slices.Sorted(slices.Values(append(slices.Clone(s.now.addresses), missingFrom(s.now.addresses, s.want.addresses)...)))
			larger.count = len(larger.addresses)
		}
		s.now = &larger
	}
	s.refresh()
	return u.newStep(AddNodes, s.subject, reason...)
}

func (s *slot) describeGrowth() []Change {
	if s.static {
		return []Change{{"nodes", "", strings.Join(missingFrom(s.now.addresses, s.want.addresses), ", ")}}
	}
	return []Change{s.describeCount()}
}

// describeCount returns bounds for an autoscaled pool: the number of its nodes is
// unknown.
func (s *slot) describeCount() Change {
	switch {
	case s.now.scaler == nil && s.want.scaler == nil:
		return Change{"count", strconv.Itoa(s.now.count), strconv.Itoa(s.want.count)}
	case s.now.scaler != nil && s.want.scaler != nil && s.now.scaler.Min != s.want.scaler.Min && s.want.count > s.now.count:
		return Change{"autoscaler.min", strconv.Itoa(s.now.scaler.Min), strconv.Itoa(s.want.scaler.Min)}
	}
	return Change{"nodes", s.now.describeSize(), s.want.describeSize()}
}

func (m *machines) describeSize() string {
	switch {
	case m.addresses != nil:
		return strings.Join(m.addresses, ", ")
	case m.scaler != nil:
		return fmt.Sprintf("%d to %d", m.scaler.Min, m.scaler.Max)
	}
	return strconv.Itoa(m.count)
}

func (s *slot) listField() string {
	if s.subject.PoolRole == Balancing {
		return "pools"
	}
	return "pools." + s.subject.PoolRole
}

func (u *unit) reduce(s *slot) Step {
	subject := s.subject
	var reason []Change
	switch {
	case s.old != nil:
		subject.Old = true
		reason = append(reason, Change{"templates", s.old.templates, s.now.templates})
		s.old = nil
	case s.want == nil:
		reason = append(reason, Change{s.listField(), s.subject.Pool, ""}, Change{"nodes", s.now.describeSize(), ""})
		s.now = nil
	case s.static:
		reason = append(reason, Change{"nodes", strings.Join(missingFrom(s.want.addresses, s.now.addresses), ", "), ""})
		smaller := *s.now
		smaller.addresses, smaller.count = s.want.addresses, s.want.count
		s.now = &smaller
	default:
		reason = append(reason, s.describeCount())
		smaller := *s.now
		smaller.count = s.want.count
		s.now = &smaller
	}
	s.refresh()
	return u.newStep(RemoveNodes, subject, reason...)
}

// rollNodes adds machines from new templates to a pool. A separate step removes the old
// machines.
func (u *unit) rollNodes() (Step, bool) {
	s := findSlot(u.slots, &u.tally, rollPool, false)
	if s == nil {
		return Step{}, false
	}
	if s.subject.PoolRole == Control && u.endpoint.LoadBalancer == "" && u.endpoint.Pool == s.subject.Pool {
		u.endpoint.old = true
	}
	return u.roll(s), true
}

func (u *unit) rollBalancer() (Step, bool) {
	for _, b := range u.balancers {
		if s := findSlot(b.slots, &b.tally, rollPool, false); s != nil && b.now != nil && b.want != nil {
			return u.roll(s), true
		}
	}
	return Step{}, false
}

func (u *unit) roll(s *slot) Step {
	subject := s.subject
	subject.New = true
	reason := Change{"templates", s.now.templates, s.want.templates}
	added := *s.now
	added.templates = s.want.templates
	s.old, s.now = s.now, &added
	s.refresh()
	return u.newStep(AddNodes, subject, reason)
}

func (u *unit) scaleNodes() (Step, bool) {
	s := findSlot(u.slots, &u.tally, scalePool, false)
	if s != nil {
		return u.scale(s), true
	}
	for _, b := range u.balancers {
		if s := findSlot(b.slots, &b.tally, scalePool, false); s != nil && b.now != nil && b.want != nil {
			return u.scale(s), true
		}
	}
	return Step{}, false
}

func (u *unit) scale(s *slot) Step {
	kind, reason := SetAutoscaler, Change{"autoscaler", s.now.describeSize(), s.want.describeSize()}
	loss := s.findLoss()
	switch {
	case s.want.scaler == nil:
		kind = ToFixed
	case s.now.scaler == nil:
		kind = ToAutoscaled
	}
	scaled := *s.now
	if s.isFixed() {
		scaled.count = s.want.count
	}
	scaled.scaler = s.want.scaler
	s.now = &scaled
	s.refresh()
	step := u.newStep(kind, s.subject, reason)
	if loss > 0 {
		step.MayRemove, step.Disruption, step.Reversible = loss, Rolling, false
	}
	return step
}

// findLoss returns how many nodes an autoscaled pool may lose in addition to those of
// an earlier step.
func (s *slot) findLoss() int {
	if s.now.scaler == nil {
		return 0
	}
	most := s.want.count
	if s.want.scaler != nil {
		most = s.want.scaler.Max
	}
	removed := max(0, s.now.scaler.Min-s.now.count)
	return max(0, s.now.scaler.Max-most-removed)
}

type patch = Change

func (u *unit) findPatches(now, want *stateIndex) {
	u.patched = traitsOf[PatchNodes].disruption
	seen := map[string]bool{}
	for _, s := range u.slots {
		pool := s.subject.Pool
		if s.now == nil || s.want == nil || seen[pool] {
			continue
		}
		seen[pool] = true
		was, is := now.findMarks(pool), want.findMarks(pool)
		if was.equals(is) {
			continue
		}
		u.patches = append(u.patches, diffMarks(pool+".labels", was.labels, is.labels)...)
		u.patches = append(u.patches, diffMarks(pool+".annotations", was.annotations, is.annotations)...)
		u.patches = append(u.patches, diffTaints(pool+".taints", was.taints, is.taints)...)
		joinsAnew := want.Executor == capiExecutor && !(maps.Equal(was.labels, is.labels) && slices.Equal(was.taints, is.taints))
		if joinsAnew || evicts(was.taints, is.taints) {
			u.patched = Rolling
		}
	}
}

func (u *unit) patchNodes() (Step, bool) {
	if len(u.patches) == 0 {
		return Step{}, false
	}
	step := u.newStep(PatchNodes, Subject{}, u.patches...)
	step.Disruption = u.patched
	u.patches = nil
	return step, true
}

func diffMarks(field string, was, is map[string]string) []Change {
	keys := map[string]bool{}
	for key := range was {
		keys[key] = true
	}
	for key := range is {
		keys[key] = true
	}
	var all []Change
	for key := range keys {
		old, had := was[key]
		value, has := is[key]
		if had != has || old != value {
			all = append(all, Change{field + "." + key, describeMark(old, had), describeMark(value, has)})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Field < all[j].Field })
	return all
}

func describeMark(value string, is bool) string {
	if is && value == "" {
		return `""`
	}
	return value
}

func diffTaints(field string, was, is []claudie.Taint) []Change {
	if equalTaints(was, is) {
		return nil
	}
	return []Change{{field, describeTaints(was), describeTaints(is)}}
}

func describeTaints(all []claudie.Taint) string {
	var texts []string
	for _, t := range all {
		key := t.Key
		if t.Value != "" {
			key += "=" + t.Value
		}
		texts = append(texts, key+":"+t.Effect)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func evicts(was, is []claudie.Taint) bool {
	return slices.ContainsFunc(is, func(t claudie.Taint) bool { return t.Effect == "NoExecute" && !slices.Contains(was, t) })
}
