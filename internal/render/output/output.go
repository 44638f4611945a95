// Package output renders the whole tree of one environment: what its branch of the
// GitOps repository should hold.
//
// The layout is Kalypso's: a folder per cluster type with README.md and a folder per
// deployment target, which has reconciler.yaml, namespace.yaml and, with values,
// platform-config.yaml (or .sh, .tfvars). .github/tracking/Promoted_Commit_Id has the
// promoted commit. Packages stackfiles and clusterfiles add their own folders. The
// objects of an ordered reconciler are in the target's folder objects, its
// reconciler.yaml has their Kustomization, and kustomization.yaml hides them from
// others.
//
// [Render] is a function of the model; a [Cache] only makes it faster. One run finds
// all problems. A problem that stops the environment empties the tree. A change
// re-renders only assignments that read it, by digest. The tree keeps ids but renders
// contents when they are read, so a fleet of 400,000 files needs little memory.
package output

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Kalypso's names and texts of files.
const (
	readmeName = "README.md"
	// ReadmeText is Kalypso's README of a cluster type's folder.
	ReadmeText = "This folder contains deployment targets scheduled on the cluster type"
	// TrackingFile holds the promoted commit of the base.
	TrackingFile = ".github/tracking/Promoted_Commit_Id"
)

// Cache keeps the inputs and file ids of the last run. The zero value is ready to use.
// A cache serves one environment and one run at a time.
type Cache struct {
	plan      *schedule.Plan
	values    values.Cache
	templates map[*model.Template]*compiledTemplate
	targets   digestCache[model.Target]
	labels    digestCache[model.ClusterType]
	sets      previousSets
	stacks    stackfiles.Cache
	ordered   map[orderedKey]orderedFolder // of the last run
	rows      map[string]*row              // of the last run, by cluster type
	rendered  atomic.Int64
	last      rendering
	options   render.Options
}

// rendering is the result for a model.
type rendering struct {
	model    *model.Model
	kept     []stack.State
	tree     tree.Tree
	problems problem.List
}

type compiledTemplate struct {
	template *render.Template
	problems problem.List
	digest   digest
	fine     shapeSet
}

// Rendered returns the number of rendered, uncached assignments since the cache was
// made.
func (c *Cache) Rendered() int64 { return c.rendered.Load() }

// Assignments returns the number of assignments of the last run.
func (c *Cache) Assignments() int {
	if c.plan == nil {
		return 0
	}
	return c.plan.Len()
}

// Plan returns the assignments of the last run; nil before the first.
func (c *Cache) Plan() *schedule.Plan { return c.plan }

// Options are the conditions of one run.
type Options struct {
	// Canceled reports whether the result is unwanted. It may be nil, and is called
	// often and concurrently. A canceled run stops the environment and is not cached.
	Canceled func() bool
	// MaxSteps bounds the uncached work in steps of templates; 0 is the default.
	MaxSteps int64
	// Kept are the states that the output has. Of two stacks with one state, the kept
	// one wins; else neither.
	Kept []stack.State
	// Templates controls the expansion of templates.
	Templates render.Options
}

// Render renders the environment of a model. c may be nil. The tree is empty if a
// problem stops the environment. The cache owns the list of problems.
func Render(m *model.Model, c *Cache, o Options) (tree.Tree, problem.List) {
	if c == nil {
		c = &Cache{}
	}
	if c.options != o.Templates {
		*c = Cache{options: o.Templates}
	}
	if c.last.model == m && slices.Equal(c.last.kept, o.Kept) {
		return c.last.tree, c.last.problems
	}
	p := newPass(m, c, o)
	t, problems := p.renderEnvironment()
	if !p.canceled.Load() {
		c.last = rendering{m, o.Kept, t, problems}
	}
	return t, problems
}

func (p *pass) isCanceled() bool {
	if !p.canceled.Load() && p.options.Canceled != nil && p.options.Canceled() {
		p.canceled.Store(true)
	}
	return p.canceled.Load()
}

func (p *pass) renderEnvironment() (tree.Tree, problem.List) {
	m, c := p.model, p.cache
	p.warnUnused()
	p.checkChoices()
	rows, texts := p.renderRows()
	if p.texts.Exhausted() {
		p.found.add(p.exhaustedProblem())
	}
	if p.isCanceled() {
		p.found.add(problem.Problem{Subject: "Environment/" + m.Environment, Summary: "rendering stopped early, because the program is shutting down"})
	}
	p.warnMissing(rows)
	stacks, found := stackfiles.RenderCached(m, &c.stacks, p.options.Kept)
	p.found.add(found...)
	provisioned, found := clusterfiles.Render(m)
	p.found.add(found...)
	problems := p.sortedProblems()
	if problems.StopsEnvironment() {
		return tree.Tree{}, problems
	}
	p.texts.Finish()
	c.rows = make(map[string]*row, len(rows))
	entries := make([]tree.Entry, 0, len(rows)+1)
	for i, r := range rows {
		c.rows[m.ClusterTypes[i].Name] = r
		entries = append(entries, tree.Dir(m.ClusterTypes[i].Name, p.orderFolder(i, r, p.clusterTypeFolder(i, r, texts[i]))))
	}
	if more := p.sortedProblems(); more.StopsEnvironment() {
		return tree.Tree{}, more
	}
	c.ordered = p.ordered
	if commit := m.PromotedCommit(); commit != "" {
		entries = append(entries, trackingEntry(commit))
	}
	return tree.FromEntries(slices.Concat(entries, stacks.Entries(), provisioned.Entries())), problems
}

// OwnedTree returns the part of a GitOps repository that is the environment's output.
// It omits files in the root, and folders that begin with a dot, except the tracking
// file. White space around the promoted commit is trimmed.
func OwnedTree(t tree.Tree) tree.Tree {
	var entries []tree.Entry
	for _, e := range t.Entries() {
		if e.IsDir() && !strings.HasPrefix(e.Name, ".") {
			entries = append(entries, e)
		}
	}
	if commit, ok := t.Lookup(TrackingFile); ok {
		entries = append(entries, trackingEntry(strings.TrimSpace(string(commit.Data))))
	}
	return tree.FromEntries(entries)
}

func trackingEntry(commit string) tree.Entry {
	file := tree.File("Promoted_Commit_Id", []byte(commit))
	return tree.Dir(".github", tree.FromEntries([]tree.Entry{tree.Dir("tracking", tree.FromEntries([]tree.Entry{file}))}))
}

// pass is one run over a model.
type pass struct {
	options  Options
	canceled atomic.Bool

	model  *model.Model
	cache  *Cache
	plan   *schedule.Plan
	values *values.Resolver
	texts  render.Pass

	templates []templates  // by cluster type
	sets      []*targetSet // by cluster type
	targets   []digest     // by target
	labels    []digest
	configs   digest
	ordered   map[orderedKey]orderedFolder
	states    map[string]assignment // by shared Terraform state
	clusters  map[string][]string
	found     findings
	names     []string          // of targets and workloads, sorted; computed on demand
	hints     map[string]string // for missing dependencies, by name

	mu      sync.Mutex
	changes map[[2]*members]memberChange
	workers sync.Pool // for repeated rendering
	sources sync.Map  // of wrong values
}

// templates has the templates of a cluster type by text; nil if missing.
type templates [3]*compiledTemplate

func newPass(m *model.Model, c *Cache, o Options) *pass {
	p := &pass{options: o, model: m, cache: c, plan: schedule.NewPlan(m, c.plan), changes: map[[2]*members]memberChange{}, ordered: map[orderedKey]orderedFolder{}, states: map[string]assignment{}}
	p.texts.Canceled, p.texts.MaxSteps = o.Canceled, o.MaxSteps
	c.plan = p.plan
	resolver, problems := values.NewResolver(m, &c.values)
	p.values = resolver
	resolver.Work = func(steps int) bool {
		p.texts.Charge(steps)
		return p.texts.IsFinished() || !p.isCanceled() && !p.texts.Exhausted()
	}
	p.found.add(problems...)
	p.compileTemplates()
	p.targets = cachedDigests(m.Targets, &c.targets, targetDigest)
	p.labels = cachedDigests(m.ClusterTypes, &c.labels, func(c *model.ClusterType) digest {
		h := newHasher()
		h.writeLabels(c.Labels)
		h.writeTexts(c.Type)
		return h.sum()
	})
	p.sets = p.targetSets()
	p.configs = configDigest(m)
	return p
}

type digestCache[T any] struct {
	objects []*T
	digests []digest
}

// cachedDigests reuses digests of objects at the same index, and updates last.
func cachedDigests[T any](objects []*T, last *digestCache[T], of func(*T) digest) []digest {
	all := make([]digest, len(objects))
	for i, o := range objects {
		if len(last.objects) == len(objects) && last.objects[i] == o {
			all[i] = last.digests[i]
			continue
		}
		all[i] = of(o)
	}
	*last = digestCache[T]{objects, all}
	return all
}

func (p *pass) compileTemplates() {
	known := p.cache.templates
	p.cache.templates = map[*model.Template]*compiledTemplate{}
	for _, t := range p.model.Templates {
		if c := known[t]; c != nil {
			p.cache.templates[t] = c
		}
	}
	for i, c := range p.model.ClusterTypes {
		if i > 0 && !slices.Contains(p.templates[i-1][:], nil) && sameTemplates(c, p.model.ClusterTypes[i-1]) {
			p.templates = append(p.templates, p.templates[i-1])
			continue
		}
		assigned := !p.plan.Targets(i).Empty()
		find := func(field, name string) *compiledTemplate {
			t := p.model.Template(name)
			if t == nil {
				p.reportMissingTemplate(c, field, name, assigned)
				return nil
			}
			return p.compileTemplate(t)
		}
		p.templates = append(p.templates, templates{
			reconcilerText: find("reconciler", c.Reconciler), namespaceText: find("namespaceService", c.NamespaceService), configText: find("configType", c.ConfigType),
		})
	}
	p.reportBrokenTemplates()
}

func (p *pass) reportBrokenTemplates() {
	needed := map[*compiledTemplate]bool{}
	for i, ts := range p.templates {
		for _, c := range ts {
			if c != nil && len(c.problems) > 0 {
				needed[c] = needed[c] || !p.plan.Targets(i).Empty()
			}
		}
	}
	for c, needed := range needed {
		p.found.addTemplate(c, !needed)
	}
}

func sameTemplates(a, b *model.ClusterType) bool {
	return a.Reconciler == b.Reconciler && a.NamespaceService == b.NamespaceService && a.ConfigType == b.ConfigType
}

func (p *pass) compileTemplate(t *model.Template) *compiledTemplate {
	c := p.cache.templates[t]
	if c == nil {
		c = &compiledTemplate{digest: templateDigest(t)}
		c.template, c.problems = p.cache.options.Compile(t)
		p.cache.templates[t] = c
	}
	return c
}

func (p *pass) reportMissingTemplate(c *model.ClusterType, field, name string, assigned bool) {
	var known []string
	for _, t := range p.model.Templates {
		known = append(known, t.Name)
	}
	near := problem.DidYouMean(name, known)
	p.found.add(problem.Problem{
		Pos: c.Pos, Subject: c.Kind + "/" + c.TypeName(), Hint: cmp.Or(near, "the templates are "+strings.Join(known, ", ")), Warning: !assigned, OfAbsence: near == "",
		Summary: fmt.Sprintf("spec.%s: Template %q not found", field, name),
	})
}

// renderRows renders all cluster types in parallel. texts has the folders that changed
// since the last run; "" for others.
func (p *pass) renderRows() (rows []*row, texts []string) {
	rows, texts = make([]*row, len(p.model.ClusterTypes)), make([]string, len(p.model.ClusterTypes))
	var next atomic.Int64
	workers := make([]worker, min(runtime.GOMAXPROCS(0), len(rows)))
	parallel.Each(len(workers), workers, func(_ int, w worker) {
		w.pass = p
		for i := int(next.Add(1)) - 1; i < len(rows); i = int(next.Add(1)) - 1 {
			rows[i], texts[i] = w.renderRow(i)
		}
	})
	return rows, texts
}
