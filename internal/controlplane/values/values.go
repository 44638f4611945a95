// Package values merges the platform values that each assignment is rendered with.
//
// Configs are written for labels. One applies to an assignment when every label
// of it is satisfied by the cluster type or by the deployment target; those that
// apply are merged, ordinary ones in the byte order of their names, then those of
// Azure App Configuration, where longer keys win. Schemas apply by the same rule
// and check the result.
//
// What the package keeps true: the result is a function of the model; merging
// never changes what it merges; and values are found per class, that is once for
// all assignments to which the same configs apply, so that 100,000 assignments
// need a few hundred merges.
//
// The rules are Kalypso's (specs, sections 6 and 7); where Kalypso loses data,
// guesses or depends on chance (quirks Q9 to Q14, Q20) the meaning is the sane
// one that the comments name.
package values

import (
	"encoding/binary"
	"iter"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// Values are the merged values of a class of assignments. They must not be
// changed.
type Values struct {
	// Data is what templates see as .ConfigData: text, or structures of
	// map[any]any and []any.
	Data   map[string]any
	Digest Digest
	// Schemas are those of the control plane that apply; a target's own come on
	// top.
	Schemas []*model.Schema
}

// Cache remembers parsed configs and merged values from one model to the next.
// The zero value is ready to use; it serves one resolver at a time.
type Cache struct {
	mu      sync.Mutex
	parsed  map[*model.Config]*parsedConfig
	classes recent.Map[string, *Values] // those of this model, and of the last
	schemas schemaCache
	serial  int
	last    *Resolver
}

// Resolver finds the values of a model's assignments. It may be used
// concurrently.
type Resolver struct {
	model *model.Model
	cache *Cache
	rules []*Rule // in merge order
	// schemas are rules too, without values.
	schemas   []schemaRule
	index     map[Need]int // numbers all needs of rules and schemas
	ruleNeeds []schedule.Set
	// clusterTypes and targets have what each satisfies, as sets of needs, and
	// the number of the group that satisfies the same.
	clusterTypes, targets objectGroups
	rows                  []groupRow // by group of cluster types
	// Work counts steps of finding values, and reports whether to go on; nil for no bound. Once
	// it is not, assignments have no values, and what is made of them is thrown away.
	Work func(steps int) bool
}

type schemaRule struct {
	schema *model.Schema
	needs  schedule.Set
}

// objectGroups are the cluster types, or the targets, of a model, grouped by the needs that they
// satisfy.
type objectGroups struct {
	list   []groupMember
	groups []schedule.Set // what the members of each group satisfy
	known  map[string]int // groups by what they satisfy
}

type groupMember struct {
	satisfied schedule.Set
	group     int
}

// groupRow has the classes of one group of cluster types, by group of targets.
type groupRow struct {
	once    sync.Once
	classes []*Values
}

// NewResolver prepares the values of a model. The problems are those of the configs
// themselves.
func NewResolver(m *model.Model, cache *Cache) (*Resolver, problem.List) {
	r := &Resolver{model: m, cache: cache}
	problems := r.readConfigs()
	last := cache.last
	if last == nil || !slices.Equal(last.rules, r.rules) || !slices.Equal(last.model.Schemas, m.Schemas) {
		last = &Resolver{model: &model.Model{}} // needs have other numbers now
	}
	r.indexNeeds()
	for _, s := range m.Schemas {
		r.schemas = append(r.schemas, schemaRule{s, r.needSet(NeedsOf(s.Labels))})
	}
	for _, rule := range r.rules {
		r.ruleNeeds = append(r.ruleNeeds, r.needSet(rule.Needs))
	}
	r.clusterTypes = groupObjects(r, last.clusterTypes, last.model.ClusterTypes, m.ClusterTypes, func(c *model.ClusterType) []Need {
		return satisfiedBy(c.Labels, Need{clusterTypeLabel, c.Name})
	})
	r.targets = groupObjects(r, last.targets, last.model.Targets, m.Targets, func(t *model.Target) []Need {
		return satisfiedBy(t.Labels, Need{deploymentTargetLabel, t.Name}, Need{workloadLabel, t.Workload})
	})
	r.rows = make([]groupRow, len(r.clusterTypes.groups))
	cache.last = r
	return r, problems
}

// readConfigs lists the rules of all configs in merge order: ordinary ones by
// name, then app configurations by name (Kalypso takes those as they come, Q14).
func (r *Resolver) readConfigs() problem.List {
	c := r.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.parsed
	c.parsed = map[*model.Config]*parsedConfig{}
	c.classes.Rotate()
	var problems problem.List
	var app []*Rule
	for _, config := range r.model.Configs {
		p := known[config]
		if p == nil {
			p = parseConfig(config)
			for _, rule := range append(p.ordinary, p.app...) {
				c.serial++
				rule.serial = c.serial
			}
		}
		c.parsed[config] = p
		problems = append(problems, p.problems...)
		r.rules = append(r.rules, p.ordinary...)
		app = append(app, p.app...)
	}
	r.rules = append(r.rules, app...)
	return problems
}

func (r *Resolver) indexNeeds() {
	r.index = map[Need]int{}
	add := func(needs []Need) {
		for _, n := range needs {
			if _, ok := r.index[n]; !ok {
				r.index[n] = len(r.index)
			}
		}
	}
	for _, rule := range r.rules {
		add(rule.Needs)
	}
	for _, s := range r.model.Schemas {
		add(NeedsOf(s.Labels))
	}
}

// needSet returns needs as a set, without those that no rule and no schema has.
func (r *Resolver) needSet(needs []Need) schedule.Set {
	s := schedule.NewSet(len(r.index))
	for _, n := range needs {
		if i, ok := r.index[n]; ok {
			s.Add(i)
		}
	}
	return s
}

// groupObjects groups objects by the needs that they satisfy. last is the grouping of the objects
// before; an object that is still in its place is not visited again.
func groupObjects[T any](r *Resolver, last objectGroups, before, now []*T, satisfied func(*T) []Need) objectGroups {
	known := len(before) == len(now) && len(last.groups) <= 2*len(now)
	s := objectGroups{list: make([]groupMember, len(now)), known: map[string]int{}}
	if known {
		copy(s.list, last.list)
		s.groups, s.known = last.groups[:len(last.groups):len(last.groups)], last.known
	}
	for i, o := range now {
		if known && before[i] == o {
			continue
		}
		set := r.needSet(satisfied(o))
		group, ok := s.known[set.Key()]
		if !ok {
			group = len(s.groups)
			s.known[set.Key()] = group
			s.groups = append(s.groups, set)
		}
		s.list[i] = groupMember{set, group}
	}
	return s
}

// ValuesOf returns the values of an assignment; the indexes are those of the model's
// lists.
func (r *Resolver) ValuesOf(clusterType, target int) *Values {
	c := &r.clusterTypes.list[clusterType]
	row := &r.rows[c.group]
	row.once.Do(func() { row.classes = r.mergeByTargetGroup(c.satisfied) })
	return row.classes[r.targets.list[target].group]
}

// mergeByTargetGroup finds the values for every group of targets on cluster types that
// satisfy the same needs.
func (r *Resolver) mergeByTargetGroup(clusterType schedule.Set) []*Values {
	out := make([]*Values, len(r.targets.groups))
	var key []byte
	var rules []*Rule
	both := schedule.NewSet(len(r.index))
	goOn := true
	for i, target := range r.targets.groups {
		goOn = goOn && r.works(1+len(r.rules)/rulesPerStep)
		if !goOn {
			out[i] = &Values{Data: map[string]any{}}
			continue
		}
		copy(both, clusterType)
		both.Union(target)
		rules, key = rules[:0], key[:0]
		for j, rule := range r.rules {
			if isSubset(both, r.ruleNeeds[j]) {
				rules = append(rules, rule)
				key = binary.AppendUvarint(key, uint64(rule.serial))
			}
		}
		var schemas []*model.Schema
		for _, s := range r.schemas {
			if isSubset(both, s.needs) {
				schemas = append(schemas, s.schema)
			}
		}
		merged, steps := r.cache.mergeRules(string(key), rules)
		goOn = r.works(steps)
		if len(schemas) > 0 {
			merged = &Values{Data: merged.Data, Digest: merged.Digest, Schemas: schemas}
		}
		out[i] = merged
	}
	return out
}

func isSubset(set, subset schedule.Set) bool {
	for i, word := range subset {
		if word&^set[i] != 0 {
			return false
		}
	}
	return true
}

const (
	// rulesPerStep is how many rules are looked at in the time of a step of a template.
	rulesPerStep = 16
	// stepsOfSetting is what one key costs, in time and memory, and textOfStep how many
	// characters of its value are a step more.
	stepsOfSetting = 8
	textOfStep     = 16
	// tooManySteps is more than any bound of work.
	tooManySteps = 1 << 40
)

// works counts work, and reports whether to go on.
func (r *Resolver) works(steps int) bool { return r.Work == nil || r.Work(steps) }

// mergeRules merges the rules, once for each list of rules. steps is how much work that was.
func (c *Cache) mergeRules(key string, rules []*Rule) (v *Values, steps int) {
	c.mu.Lock()
	v, ok := c.classes.Find(key)
	c.mu.Unlock()
	if ok {
		return v, 0
	}
	data, m := map[string]any{}, merger{maxMergeSteps}
	for _, rule := range rules {
		for _, s := range rule.Values {
			steps += stepsOfSetting + len(s.Text)/textOfStep
			if old, ok := data[s.Key]; ok {
				data[s.Key] = m.mergeValues(old, s.Value)
			} else {
				data[s.Key] = s.Value
			}
		}
	}
	if m.left < 0 {
		return &Values{Data: map[string]any{}}, tooManySteps
	}
	steps += maxMergeSteps - m.left
	v = &Values{Data: data, Digest: digestOf(data)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first, ok := c.classes.Find(key); ok {
		return first, steps
	}
	c.classes.Put(key, v)
	return v, steps
}

// UnreadConfigs yields the configs of which no assignment of the plan reads anything.
func (r *Resolver) UnreadConfigs(plan *schedule.Plan) iter.Seq[*model.Config] {
	return func(yield func(*model.Config) bool) {
		byNeed := r.targetsByNeed()
		read := map[*model.Config]bool{}
		for i, needs := range r.ruleNeeds {
			config := r.rules[i].config
			read[config] = read[config] || r.isRead(needs, plan, byNeed)
		}
		for _, config := range r.model.Configs {
			if !read[config] && !yield(config) {
				return
			}
		}
	}
}

// targetsByNeed returns for each need the targets that satisfy it; nil if none does.
func (r *Resolver) targetsByNeed() []schedule.Set {
	sets := make([]schedule.Set, len(r.index))
	for i := range sets {
		sets[i] = schedule.NewSet(len(r.targets.list))
	}
	for i, t := range r.targets.list {
		for j := range t.satisfied.All() {
			sets[j].Add(i)
		}
	}
	for j := range sets {
		if sets[j].Empty() {
			sets[j] = nil
		}
	}
	return sets
}

// isRead reports whether an assignment satisfies all needs. What a cluster type
// does not satisfy itself, one of its targets must.
func (r *Resolver) isRead(needs schedule.Set, plan *schedule.Plan, byNeed []schedule.Set) bool {
	candidates := schedule.NewSet(len(r.targets.list))
next:
	for i, c := range r.clusterTypes.list {
		for j := range needs.All() {
			if !c.satisfied.Has(j) && byNeed[j] == nil {
				continue next
			}
		}
		copy(candidates, plan.Targets(i))
		for j := range needs.All() {
			if !c.satisfied.Has(j) {
				candidates.Intersect(byNeed[j])
			}
		}
		if !candidates.Empty() {
			return true
		}
	}
	return false
}
