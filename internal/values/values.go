// Package values decides with which platform values an assignment is rendered.
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
	"sync"

	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/internal/schedule"
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
	classes map[string]*Values
	schemas schemaCache
	serial  int
}

// maxClasses bounds what a cache keeps of the past.
const maxClasses = 1 << 16

// Resolver finds the values of a model's assignments. It may be used
// concurrently.
type Resolver struct {
	model *model.Model
	cache *Cache
	rules []*rule // in merge order
	// schemas are rules too, without values.
	schemas []schemaRule
	needs   []need
	// clusterTypes and targets have what each satisfies, as sets of needs, and
	// the number of the group that satisfies the same.
	clusterTypes, targets []side
	rows                  []row // by group of cluster types
	targetGroups          []schedule.Set
}

type schemaRule struct {
	schema *model.Schema
	needs  schedule.Set
}

type side struct {
	satisfied schedule.Set
	group     int
}

// row has the classes of one group of cluster types, by group of targets.
type row struct {
	once    sync.Once
	classes []*Values
}

// Resolve prepares the values of a model. The problems are those of the configs
// themselves.
func Resolve(m *model.Model, cache *Cache) (*Resolver, problem.List) {
	r := &Resolver{model: m, cache: cache}
	problems := r.readConfigs()
	index := r.indexNeeds()
	for _, s := range m.Schemas {
		rule := schemaRule{schema: s, needs: schedule.NewSet(len(r.needs))}
		for _, n := range needsOf(s.Labels) {
			rule.needs.Add(index[n])
		}
		r.schemas = append(r.schemas, rule)
	}
	r.clusterTypes, _ = r.sides(len(m.ClusterTypes), func(i int, n need) bool { return n.onClusterType(m.ClusterTypes[i]) })
	r.targets, r.targetGroups = r.sides(len(m.Targets), func(i int, n need) bool { return n.onTarget(m.Targets[i]) })
	groups := 0
	for _, c := range r.clusterTypes {
		groups = max(groups, c.group+1)
	}
	r.rows = make([]row, groups)
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
	if c.classes == nil || len(c.classes) > maxClasses {
		c.classes = map[string]*Values{}
	}
	var problems problem.List
	var app []*rule
	for _, config := range r.model.Configs {
		p := known[config]
		if p == nil {
			p = rulesOf(config)
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

func (r *Resolver) indexNeeds() map[need]int {
	index := map[need]int{}
	add := func(needs []need) {
		for _, n := range needs {
			if _, ok := index[n]; !ok {
				index[n] = len(r.needs)
				r.needs = append(r.needs, n)
			}
		}
	}
	for _, rule := range r.rules {
		add(rule.needs)
	}
	for _, s := range r.model.Schemas {
		add(needsOf(s.Labels))
	}
	return index
}

// sides finds what each of n cluster types or targets satisfies, and groups those
// that satisfy the same.
func (r *Resolver) sides(n int, satisfies func(int, need) bool) (sides []side, groups []schedule.Set) {
	sides = make([]side, n)
	known := map[string]int{}
	for i := range sides {
		s := schedule.NewSet(len(r.needs))
		for j, need := range r.needs {
			if satisfies(i, need) {
				s.Add(j)
			}
		}
		group, ok := known[s.Key()]
		if !ok {
			group = len(groups)
			known[s.Key()] = group
			groups = append(groups, s)
		}
		sides[i] = side{s, group}
	}
	return sides, groups
}

// For gives the values of an assignment: the indexes are those of the model's
// lists.
func (r *Resolver) For(clusterType, target int) *Values {
	c := &r.clusterTypes[clusterType]
	row := &r.rows[c.group]
	row.once.Do(func() { row.classes = r.classes(c.satisfied) })
	return row.classes[r.targets[target].group]
}

// classes finds the values for every group of targets on cluster types that
// satisfy the same needs.
func (r *Resolver) classes(clusterType schedule.Set) []*Values {
	out := make([]*Values, len(r.targetGroups))
	var key []byte
	var rules []*rule
	both := schedule.NewSet(len(r.needs))
	index := r.ruleNeeds()
	for i, target := range r.targetGroups {
		copy(both, clusterType)
		both.Union(target)
		rules, key = rules[:0], key[:0]
		for j, rule := range r.rules {
			if contains(both, index[j]) {
				rules = append(rules, rule)
				key = binary.AppendUvarint(key, uint64(rule.serial))
			}
		}
		var schemas []*model.Schema
		for _, s := range r.schemas {
			if contains(both, s.needs) {
				schemas = append(schemas, s.schema)
			}
		}
		merged := r.cache.class(string(key), rules)
		if len(schemas) > 0 {
			merged = &Values{Data: merged.Data, Digest: merged.Digest, Schemas: schemas}
		}
		out[i] = merged
	}
	return out
}

// ruleNeeds gives the needs of each rule as sets.
func (r *Resolver) ruleNeeds() []schedule.Set {
	index := map[need]int{}
	for i, n := range r.needs {
		index[n] = i
	}
	sets := make([]schedule.Set, len(r.rules))
	for i, rule := range r.rules {
		sets[i] = schedule.NewSet(len(r.needs))
		for _, n := range rule.needs {
			sets[i].Add(index[n])
		}
	}
	return sets
}

func contains(set, subset schedule.Set) bool {
	for i, word := range subset {
		if word&^set[i] != 0 {
			return false
		}
	}
	return true
}

// class merges the rules, once for each list of rules.
func (c *Cache) class(key string, rules []*rule) *Values {
	c.mu.Lock()
	v := c.classes[key]
	c.mu.Unlock()
	if v != nil {
		return v
	}
	data := map[string]any{}
	for _, rule := range rules {
		for _, s := range rule.values {
			if old, ok := data[s.key]; ok {
				data[s.key] = merge(old, s.value)
			} else {
				data[s.key] = s.value
			}
		}
	}
	v = &Values{Data: data, Digest: digestOf(data)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.classes[key]; first != nil {
		return first
	}
	c.classes[key] = v
	return v
}

// Unread gives the configs of which no assignment of the plan reads anything.
func (r *Resolver) Unread(plan *schedule.Plan) iter.Seq[*model.Config] {
	return func(yield func(*model.Config) bool) {
		byNeed := r.targetsByNeed()
		read := map[*model.Config]bool{}
		for i, needs := range r.ruleNeeds() {
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

// targetsByNeed gives for each need the targets that satisfy it.
func (r *Resolver) targetsByNeed() []schedule.Set {
	sets := make([]schedule.Set, len(r.needs))
	for i := range sets {
		sets[i] = schedule.NewSet(len(r.targets))
	}
	for i, t := range r.targets {
		for j := range t.satisfied.All() {
			sets[j].Add(i)
		}
	}
	return sets
}

func (r *Resolver) isRead(needs schedule.Set, plan *schedule.Plan, byNeed []schedule.Set) bool {
	candidates := schedule.NewSet(len(r.targets))
	for i, c := range r.clusterTypes {
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
