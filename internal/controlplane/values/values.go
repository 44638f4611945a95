// Package values merges the platform values that each assignment is rendered with.
//
// A config applies to an assignment if its cluster type or target satisfies every
// label. Ordinary configs are merged in byte order of their names, then those of Azure
// App Configuration, where longer keys win. Schemas apply by the same rule and check
// the result.
//
// Results are a function of the model, and merging never changes its inputs. Values are
// merged once per class of assignments with the same configs: 100,000 assignments need
// a few hundred merges.
//
// The rules are Kalypso's (specs, sections 6 and 7), except where Kalypso loses data,
// guesses or depends on chance (quirks Q9 to Q14, Q20).
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

// Values are the immutable merged values of a class of assignments.
type Values struct {
	// Data is .ConfigData: texts, or structures of map[any]any and []any.
	Data   map[string]any
	Digest Digest
	// Schemas are the control plane's; a target adds its own.
	Schemas []*model.Schema
}

// Cache keeps parsed configs and merged values between models. The zero value is ready
// to use; it serves one resolver at a time.
type Cache struct {
	mu      sync.Mutex
	parsed  map[*model.Config]*parsedConfig
	classes recent.Map[string, *Values] // of this model and the last
	schemas schemaCache
	serial  int
	last    *Resolver
}

// Resolver finds the values of a model's assignments. It is safe for concurrent use.
type Resolver struct {
	model *model.Model
	cache *Cache
	rules []*Rule // in merge order
	// schemas are rules without values.
	schemas   []schemaRule
	index     map[Need]int // numbers all needs
	ruleNeeds []schedule.Set
	// clusterTypes and targets have the satisfied needs of each, and its group.
	clusterTypes, targets objectGroups
	rows                  []groupRow // by group of cluster types
	// Work counts steps and reports whether to continue; nil means no bound. After a
	// stop, assignments have no values and results are discarded.
	Work func(steps int) bool
}

type schemaRule struct {
	schema *model.Schema
	needs  schedule.Set
}

type objectGroups struct {
	list   []groupMember
	groups []schedule.Set // satisfied needs
	known  map[string]int
}

type groupMember struct {
	satisfied schedule.Set
	group     int
}

type groupRow struct {
	once    sync.Once
	classes []*Values
}

// NewResolver prepares the values of a model. The problems are those of the configs.
func NewResolver(m *model.Model, cache *Cache) (*Resolver, problem.List) {
	r := &Resolver{model: m, cache: cache}
	problems := r.readConfigs()
	last := cache.last
	if last == nil || !slices.Equal(last.rules, r.rules) || !slices.Equal(last.model.Schemas, m.Schemas) {
		last = &Resolver{model: &model.Model{}} // needs are renumbered
	}
	r.indexNeeds()
	for _, s := range m.Schemas {
		r.schemas = append(r.schemas, schemaRule{s, r.needSet(NeedsOf(s.Labels))})
	}
	for _, rule := range r.rules {
		r.ruleNeeds = append(r.ruleNeeds, r.needSet(rule.Needs))
	}
	r.clusterTypes = groupObjects(r, last.clusterTypes, last.model.ClusterTypes, m.ClusterTypes, func(c *model.ClusterType) []Need {
		return satisfiedBy(c.Labels, Need{clusterTypeLabel, c.Name}, Need{clusterTypeLabel, c.TypeName()})
	})
	r.targets = groupObjects(r, last.targets, last.model.Targets, m.Targets, func(t *model.Target) []Need {
		return satisfiedBy(t.Labels, Need{deploymentTargetLabel, t.Name}, Need{workloadLabel, t.Workload})
	})
	r.rows = make([]groupRow, len(r.clusterTypes.groups))
	cache.last = r
	return r, problems
}

// readConfigs lists rules in merge order: ordinary ones by name, then app
// configurations by name (in Kalypso unordered, Q14).
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

func (r *Resolver) needSet(needs []Need) schedule.Set {
	s := schedule.NewSet(len(r.index))
	for _, n := range needs {
		if i, ok := r.index[n]; ok {
			s.Add(i)
		}
	}
	return s
}

// groupObjects skips objects that last has at the same index.
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

// ValuesOf returns the values of an assignment, by the model's indexes.
func (r *Resolver) ValuesOf(clusterType, target int) *Values {
	c := &r.clusterTypes.list[clusterType]
	row := &r.rows[c.group]
	row.once.Do(func() { row.classes = r.mergeByTargetGroup(c.satisfied) })
	return row.classes[r.targets.list[target].group]
}

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
	rulesPerStep = 16
	// stepsOfSetting is the cost of a key, and textOfStep the characters per additional
	// step.
	stepsOfSetting = 8
	textOfStep     = 16
	// tooManySteps exceeds any bound.
	tooManySteps = 1 << 40
)

func (r *Resolver) works(steps int) bool { return r.Work == nil || r.Work(steps) }

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

// UnreadConfigs yields configs that no assignment of the plan reads.
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

// isRead reports whether an assignment satisfies all needs: what the cluster type
// lacks, the target must satisfy.
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
