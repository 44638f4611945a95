// Package output renders the whole tree of one environment: what its branch of the
// GitOps repository should hold.
//
// The layout is Kalypso's: a folder for every cluster type with a README.md and a
// folder for each deployment target on it, holding reconciler.yaml, namespace.yaml
// and, where there are values, platform-config.yaml (or .sh, .tfvars); and
// .github/tracking/Promoted_Commit_Id with the promoted commit. The files of stacks are
// in folders of their own, see package stackfiles, and so are those of clusters that are
// provisioned, see package clusterfiles. Where a reconciler is ordered, its
// objects are in the folder objects of the deployment target, reconciler.yaml holds the
// Kustomization that applies them, and a kustomization.yaml keeps others from doing so.
//
// What the package keeps true:
//   - [Render] is a function of the model. A [Cache] makes it faster and never
//     changes the result.
//   - One run finds all problems; if one of them stops the environment, the tree is
//     empty.
//   - A change re-renders the assignments that read what changed, and no others:
//     the cache compares what each assignment reads, by digest.
//   - Contents are not kept: the tree renders a file again when it is read, so that
//     a fleet of 400,000 files costs the memory of its ids.
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

// The names and texts of files that Kalypso writes.
const (
	readmeName = "README.md"
	// ReadmeText is the README of a cluster type's folder, as Kalypso writes it.
	ReadmeText = "This folder contains deployment targets scheduled on the cluster type"
	// TrackingFile holds the promoted commit of the base.
	TrackingFile = ".github/tracking/Promoted_Commit_Id"
)

// Cache keeps from one run to the next what each assignment read, and the ids of its
// files. The zero value is ready to use; one cache serves one environment, and one run
// at a time.
type Cache struct {
	plan      *schedule.Plan
	values    values.Cache
	templates map[*model.Template]*compiledTemplate
	targets   digestCache[model.Target]
	labels    digestCache[model.ClusterType]
	sets      previousSets
	stacks    stackfiles.Cache
	ordered   map[orderedKey]orderedFolder // those of ordered targets, of the last run
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

// compiledTemplate is a compiled template, with its problems.
type compiledTemplate struct {
	template *render.Template
	problems problem.List
	digest   digest
	fine     shapeSet
}

// Rendered returns the number of assignments that were rendered since the cache was
// made. The others were in it.
func (c *Cache) Rendered() int64 { return c.rendered.Load() }

// Assignments returns the number of assignments of the last run.
func (c *Cache) Assignments() int {
	if c.plan == nil {
		return 0
	}
	return c.plan.Len()
}

// Plan returns the assignments of the last run; nil if there was none.
func (c *Cache) Plan() *schedule.Plan { return c.plan }

// Options are the conditions of one run.
type Options struct {
	// Canceled reports whether the caller no longer wants the result; nil if it always
	// does. It is called often, from several goroutines. A run that was canceled has a
	// problem that stops the environment, and is not cached.
	Canceled func() bool
	// MaxSteps bounds the work of rendering, in steps of templates; 0 for the default.
	// It counts what is rendered in the run, and not what is in the cache.
	MaxSteps int64
	// Kept are the states that the output names, by their stacks: of two stacks with one state, the one that
	// the output has goes on. Without it, neither does.
	Kept []stack.State
	// Templates controls how templates are expanded.
	Templates render.Options
}

// Render renders the environment that the model describes. c may be nil. The tree is empty
// if a problem stops the environment. The caller must not change the list of problems: the
// cache keeps it.
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

// isCanceled reports whether the run was canceled. Once true, it stays true.
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

// OwnedTree returns the part of a GitOps repository's tree that is an environment's output:
// the folders of cluster types and of stacks, and the tracking file. It leaves out what people keep
// beside them: files in the root, and folders that begin with a dot. White space around
// the promoted commit is trimmed.
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
	targets   []digest     // by target: of all that templates read of it
	labels    []digest     // by cluster type
	configs   digest
	ordered   map[orderedKey]orderedFolder
	states    map[string]assignment // by the states of Terraform that are shared by clusters
	clusters  map[string][]string   // by cluster type: those that the environment provisions; nil until it is asked for
	found     findings
	names     []string          // of targets and workloads, sorted; nil until a dependency is missing
	hints     map[string]string // for missing dependencies, by their name

	mu      sync.Mutex
	changes map[[2]*members]memberChange
	workers sync.Pool // for texts that are rendered again
	sources sync.Map  // the configs that wrong values come from
}

// templates holds the templates of a cluster type by their text; nil where one is missing.
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
		return h.sum()
	})
	p.sets = p.targetSets()
	p.configs = configDigest(m)
	return p
}

// digestCache holds objects of a model with their digests.
type digestCache[T any] struct {
	objects []*T
	digests []digest
}

// cachedDigests returns the digest of each object: from last if the object is still at the same
// index, else computed. It updates last.
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

// compileTemplates finds and compiles the templates of every cluster type. It reuses those
// that were compiled for an earlier model.
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

// reportBrokenTemplates reports the problems of the templates that cluster types use, as warnings
// if no assignment is rendered with the template.
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

// reportMissingTemplate reports that a template was not found, as a warning if no assignment is
// rendered with it.
func (p *pass) reportMissingTemplate(c *model.ClusterType, field, name string, assigned bool) {
	var known []string
	for _, t := range p.model.Templates {
		known = append(known, t.Name)
	}
	near := problem.DidYouMean(name, known)
	p.found.add(problem.Problem{
		Pos: c.Pos, Subject: c.Subject(), Hint: cmp.Or(near, "the templates are "+strings.Join(known, ", ")), Warning: !assigned, OfAbsence: near == "",
		Summary: fmt.Sprintf("spec.%s: Template %q not found", field, name),
	})
}

// renderRows renders all cluster types, as many at a time as there are processors. They do not
// depend on each other. texts has the folders of those that have changed since the last run;
// "" for the others.
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
