// Package output gives the whole tree of one environment: what its branch of the
// GitOps repository should hold.
//
// The layout is Kalypso's: a folder for every cluster type with a README.md and a
// folder for each deployment target on it, holding reconciler.yaml, namespace.yaml
// and, where there are values, platform-config.yaml (or .sh, .tfvars); and
// .github/tracking/Promoted_Commit_Id with the promoted commit.
//
// What the package keeps true:
//   - [Environment] is a function of the model. A [Cache] makes it faster and never
//     changes what it gives.
//   - All problems are found in one run; if one of them stops the environment
//     there is no tree.
//   - A change re-renders the assignments that read what changed, and no others:
//     the cache compares what each assignment reads, by digest.
//   - Contents are not kept: the tree renders a file again when somebody asks for
//     it, so that a fleet of 400,000 files costs the memory of its ids.
package output

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/render"
)

// The files that Kalypso's users know.
const (
	readmeName = "README.md"
	// ReadmeText is the README of a cluster type's folder, as Kalypso writes it.
	ReadmeText = "This folder contains deployment targets scheduled on the cluster type"
	// TrackingFile holds the promoted commit of the base.
	TrackingFile = ".github/tracking/Promoted_Commit_Id"
)

// Cache remembers from one run to the next what each assignment read and what
// came of it. The zero value is ready to use; one cache serves one environment,
// and one run at a time.
type Cache struct {
	plan      *schedule.Plan
	values    values.Cache
	templates map[*model.Template]*compiled
	targets   digested[model.Target]
	labels    digested[model.ClusterType]
	sets      knownSets
	rows      knownRows
	rendered  atomic.Int64
	last      rendering
	options   render.Options
}

// rendering is what came of a model.
type rendering struct {
	model    *model.Model
	tree     tree.Tree
	problems problem.List
}

// compiled is a template that is ready, with the problems found on the way.
type compiled struct {
	template *render.Template
	problems problem.List
	digest   digest
	fine     shapeSet
}

// Rendered gives the number of assignments that were rendered since the cache was
// made: the others were known.
func (c *Cache) Rendered() int64 { return c.rendered.Load() }

// Assignments gives the number of assignments of the last run.
func (c *Cache) Assignments() int {
	if c.plan == nil {
		return 0
	}
	return c.plan.Len()
}

// Environment renders the environment that the model describes. The tree is empty
// if a problem stops the environment. The list of problems must not be changed: the cache
// gives it again.
func Environment(m *model.Model, c *Cache) (tree.Tree, problem.List) {
	return Render(m, c, Options{})
}

// Options are the conditions of one run.
type Options struct {
	// Canceled reports whether the caller no longer wants the result; nil if it always
	// does. It is called often, from several goroutines. A run that was canceled has a
	// problem that stops the environment, and the cache forgets it.
	Canceled func() bool
	// MaxSteps bounds the work of rendering, in steps of templates; 0 for the usual bound.
	// It counts what is rendered in the run, and not what the cache knows.
	MaxSteps int64
	// Options say how templates are expanded.
	render.Options
}

// Render renders the environment that the model describes, as [Environment] does.
func Render(m *model.Model, c *Cache, o Options) (tree.Tree, problem.List) {
	if c == nil {
		c = &Cache{}
	}
	if c.options != o.Options {
		*c = Cache{options: o.Options}
	}
	if c.last.model == m {
		return c.last.tree, c.last.problems
	}
	p := newPass(m, c, o)
	t, problems := p.environment()
	if !p.canceled.Load() {
		c.last = rendering{m, t, problems}
	}
	return t, problems
}

// isCanceled reports whether the run was canceled, from when that was first seen.
func (p *pass) isCanceled() bool {
	if !p.canceled.Load() && p.Canceled != nil && p.Canceled() {
		p.canceled.Store(true)
	}
	return p.canceled.Load()
}

func (p *pass) environment() (tree.Tree, problem.List) {
	m, c := p.model, p.cache
	p.checkUse()
	rows, texts := p.rows()
	if p.texts.Exhausted() {
		p.found.add(p.exhausted())
	}
	if p.isCanceled() {
		p.found.add(problem.Problem{Subject: "Environment/" + m.Environment, Summary: "it was not rendered to the end, because the program ends"})
	}
	p.warnMissing(rows)
	problems := p.problems()
	if problems.Stops() {
		return tree.Tree{}, problems
	}
	p.texts.Settle()
	c.rows = knownRows{m.ClusterTypes, rows}
	entries := make([]tree.Entry, 0, len(rows)+1)
	for i, r := range rows {
		entries = append(entries, tree.Dir(m.ClusterTypes[i].Name, p.clusterType(i, r, texts[i])))
	}
	if commit := m.PromotedCommit(); commit != "" {
		entries = append(entries, trackingEntry(commit))
	}
	return tree.FromEntries(entries), problems
}

// Owned gives the part of a GitOps repository's tree that an environment's output
// is: the folders of cluster types, and the tracking file. What people keep beside
// them, files in the root and folders that begin with a dot, is left out. White
// space around the promoted commit means nothing.
func Owned(t tree.Tree) tree.Tree {
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
	t, err := tree.FromFiles(map[string][]byte{"tracking/Promoted_Commit_Id": []byte(commit)})
	if err != nil {
		panic("output: " + err.Error())
	}
	return tree.Dir(".github", t)
}

// pass is one run over a model.
type pass struct {
	Options
	canceled atomic.Bool // once it was seen

	model  *model.Model
	cache  *Cache
	plan   *schedule.Plan
	values *values.Resolver
	texts  render.Pass

	templates []templates  // by cluster type
	sets      []*targetSet // by cluster type
	targets   []digest     // by target: of all that templates see of it
	labels    []digest     // by cluster type
	configs   digest
	found     findings

	mu      sync.Mutex
	changes map[[2]*members]memberChange
	workers sync.Pool // that make texts again
}

// templates are the three of a cluster type; nil where one is missing.
type templates struct{ reconciler, namespace, config *compiled }

// lacks reports whether one of them is missing.
func (t templates) lacks() bool { return t.reconciler == nil || t.namespace == nil || t.config == nil }

// of gives that of a text.
func (t templates) of(which int) *compiled {
	switch which {
	case namespaceText:
		return t.namespace
	case configText:
		return t.config
	}
	return t.reconciler
}

func newPass(m *model.Model, c *Cache, o Options) *pass {
	p := &pass{Options: o, model: m, cache: c, plan: schedule.Assign(m, c.plan), changes: map[[2]*members]memberChange{}}
	p.texts.Canceled, p.texts.MaxSteps = o.Canceled, o.MaxSteps
	c.plan = p.plan
	resolver, problems := values.Resolve(m, &c.values)
	p.values = resolver
	resolver.Work = func(steps int) bool {
		p.texts.Charge(steps)
		return p.texts.IsSettled() || !p.isCanceled() && !p.texts.Exhausted()
	}
	p.found.add(problems...)
	p.compileTemplates()
	p.targets = digests(m.Targets, &c.targets, targetDigest)
	p.labels = digests(m.ClusterTypes, &c.labels, labelsDigest)
	p.sets = p.targetSets()
	p.configs = configDigest(m)
	return p
}

// digested are the objects of a model with their digests.
type digested[T any] struct {
	objects []*T
	digests []digest
}

// digests gives the digest of each object. That of one that is in its place still
// is known from last, which is then that of these objects.
func digests[T any](objects []*T, last *digested[T], of func(*T) digest) []digest {
	all := make([]digest, len(objects))
	for i, o := range objects {
		if len(last.objects) == len(objects) && last.objects[i] == o {
			all[i] = last.digests[i]
			continue
		}
		all[i] = of(o)
	}
	*last = digested[T]{objects, all}
	return all
}

// compileTemplates finds and compiles the templates of every cluster type. What
// was compiled for an earlier model is used again.
func (p *pass) compileTemplates() {
	known := p.cache.templates
	p.cache.templates = map[*model.Template]*compiled{}
	for _, t := range p.model.Templates {
		if c := known[t]; c != nil {
			p.cache.templates[t] = c
		}
	}
	for i, c := range p.model.ClusterTypes {
		if i > 0 && !p.templates[i-1].lacks() && sameTemplates(c, p.model.ClusterTypes[i-1]) {
			p.templates = append(p.templates, p.templates[i-1])
			continue
		}
		assigned := !p.plan.Targets(i).Empty()
		find := func(field, name string) *compiled {
			t := p.model.Template(name)
			if t == nil {
				p.missingTemplate(c, field, name, assigned)
				return nil
			}
			return p.compiled(t)
		}
		p.templates = append(p.templates, templates{
			find("reconciler", c.Reconciler), find("namespaceService", c.NamespaceService), find("configType", c.ConfigType),
		})
	}
	p.brokenTemplates()
}

// brokenTemplates reports the problems of the templates that cluster types use. They
// are warnings where nothing is to be rendered with the template: it is not in the way
// of anything.
func (p *pass) brokenTemplates() {
	needed := map[*compiled]bool{}
	for i, ts := range p.templates {
		for _, c := range []*compiled{ts.reconciler, ts.namespace, ts.config} {
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

func (p *pass) compiled(t *model.Template) *compiled {
	c := p.cache.templates[t]
	if c == nil {
		c = &compiled{digest: templateDigest(t)}
		c.template, c.problems = p.cache.options.Compile(t)
		p.cache.templates[t] = c
	}
	return c
}

// missingTemplate is a problem where something is to be rendered, and a warning
// where nothing is.
func (p *pass) missingTemplate(c *model.ClusterType, field, name string, assigned bool) {
	var known []string
	for _, t := range p.model.Templates {
		known = append(known, t.Name)
	}
	hint := problem.DidYouMean(name, known)
	if hint == "" {
		hint = "the templates are " + strings.Join(known, ", ")
	}
	p.found.add(problem.Problem{
		Pos: c.Pos, Subject: c.Subject(), Hint: hint, Warning: !assigned,
		Summary: fmt.Sprintf("spec.%s: Template %q not found", field, name),
	})
}

// rows renders all cluster types, as many at a time as there are processors. Each
// is independent of the others, so that the order does not matter. The texts are of those
// that are not as they were in the last run.
func (p *pass) rows() (rows []*row, texts []string) {
	rows, texts = make([]*row, len(p.model.ClusterTypes)), make([]string, len(p.model.ClusterTypes))
	var next atomic.Int64
	var workers sync.WaitGroup
	var relay panics.Relay
	for range min(runtime.GOMAXPROCS(0), len(rows)) {
		workers.Go(func() {
			relay.Run(func() {
				w := worker{pass: p}
				for i := int(next.Add(1)) - 1; i < len(rows); i = int(next.Add(1)) - 1 {
					rows[i], texts[i] = w.row(i)
				}
			})
		})
	}
	workers.Wait()
	relay.Raise()
	return rows, texts
}
