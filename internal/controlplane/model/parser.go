package model

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Parser reads layers and caches what it read of each: a file that has not
// changed is parsed once, a folder that has not changed is not listed, and for layers of
// which none has changed it returns the same model, which must not be changed. It
// may be used concurrently.
type Parser struct {
	// Canceled reports whether the reading is to end; nil never cancels. The layer then has a
	// problem that stops the environment, and is not cached.
	Canceled func() bool

	mu     sync.Mutex
	layers recent.Map[layerKey, *layerMemory]
	models recent.Map[string, linkedModel] // by environment, and the layers that it was made of
}

type linkedModel struct {
	of       []*content
	model    *Model
	problems problem.List
	lists    linkedLists
}

type layerKey struct {
	env, name, prefix string
	kind              LayerKind
}

// layerMemory is the last reading of a layer, and earlier ones that are in use: two
// environments may read a layer at two commits, in turns.
type layerMemory struct {
	mu    sync.Mutex
	last  *fileReading
	known recent.Map[tree.ID, *fileReading]
	fresh int // readings, since the last generation of known began
}

// maxFresh bounds the readings of one layer that are kept beside those in use.
const maxFresh = 2

type fileReading struct {
	id       tree.ID
	content  *content
	reported *content                // of a layer's root: with a count of dropped problems
	entries  map[string]*fileReading // of a folder, by name
	// built is true if a kustomization is in it, which may read files anywhere in
	// the layer; root is the layer at that time.
	built bool
	root  tree.ID
}

// NewParser returns a Parser with an empty cache.
func NewParser() *Parser {
	return &Parser{}
}

// NextGeneration begins a generation: the cache drops what was last used two generations ago.
func (p *Parser) NextGeneration() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.layers.Rotate()
	p.models.Rotate()
}

// Forget clears the cache.
func (p *Parser) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.layers, p.models = recent.Map[layerKey, *layerMemory]{}, recent.Map[string, linkedModel]{}
}

// References is the objects of a layer that point to other layers.
type References struct {
	Environments  []*Environment
	BaseRepos     []*BaseRepo
	Registrations []*Registration
	Templates     []*Template
	HasStacks     bool // or Teams, which name stacks
	HasModules    bool // of clusters
	HasManifests  bool // of clusters
	// Problems are those of the layer by itself. [Parser.Parse] reports them too.
	Problems problem.List
}

// Scan reads one layer of environment env and returns the objects that point to
// others.
func (p *Parser) Scan(env string, l Layer) References {
	c := p.readLayer(env, l)
	return References{c.environments, c.baseRepos, c.registrations, c.templates, len(c.stacks.List)+len(c.stacks.Teams) > 0, len(c.clusters.modules) > 0, len(c.clusters.manifests) > 0, c.problems}
}

// Parse returns the model of environment env; see the function [Parse].
func (p *Parser) Parse(env string, layers ...Layer) (*Model, problem.List) {
	all, of, key := &content{}, make([]*content, 0, len(layers)), env
	for _, l := range layers {
		of = append(of, p.readLayer(env, l))
		key += fmt.Sprintf("\x00%d %s\x00%s\x00%s %t %t\x00%s\x00%s", l.Kind, l.Name, l.Prefix, l.Commit, l.Moves, l.Modules, l.Unread, l.UnreadModules)
	}
	p.mu.Lock()
	last, _ := p.models.Find(key)
	p.mu.Unlock()
	if last.model != nil && slices.Equal(last.of, of) {
		return last.model, last.problems
	}
	var unread problem.List
	for i, c := range of {
		all.add(c)
		unread = append(unread, all.stacks.addUnreadTeam(layers[i])...)
	}
	lists := last.lists
	m := linkContent(env, all, &lists) // it adds to the problems
	m.Stacks.Stopped = append(unread, listStopped(all.problems)...)
	m.addLayers(layers)
	problems := all.problems.Sorted().Capped(2 * maxProblems)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.models.Put(key, linkedModel{of, m, problems, lists})
	return m, problems
}

// readLayer reads all files of a layer. The content must not be changed.
func (p *Parser) readLayer(env string, l Layer) *content {
	key := layerKey{env, l.Name, l.Prefix, l.Kind}
	p.mu.Lock()
	memory, ok := p.layers.Find(key)
	if !ok {
		memory = &layerMemory{}
		p.layers.Put(key, memory)
	}
	p.mu.Unlock()
	memory.mu.Lock()
	defer memory.mu.Unlock()
	id := l.Files.ID()
	if known, ok := memory.known.Find(id); ok {
		memory.last = known
		return known.reported
	}
	read := &fileReading{id: id, content: &content{}} // equal files have one content, and other files another one
	if l.Kind != Files {
		read = p.readFolder(env, l, "", l.Files, memory.last)
	}
	if p.isCanceled() {
		c := &content{}
		c.problems.Addf(problem.Pos{Layer: l.displayName()}, "", "", "reading stopped early, because the program is shutting down")
		return c
	}
	memory.last = read
	memory.fresh++
	if memory.fresh > maxFresh {
		memory.known.Rotate()
		memory.fresh = 1
	}
	memory.known.Put(id, memory.last)
	if memory.last.reported == nil {
		memory.last.reported = memory.last.content.withDropped(l)
	}
	return memory.last.reported
}

// readFolder reads a folder, and takes from last what has not changed. A folder with a
// kustomization file is built as Flux would build it; in others every YAML file is read.
func (p *Parser) readFolder(env string, l Layer, dir string, t tree.Tree, last *fileReading) *fileReading {
	if last == nil {
		last = &fileReading{}
	} else if last.id == t.ID() && (!last.built || last.root == l.Files.ID()) {
		return last
	}
	entries := t.Entries()
	r := &fileReading{id: t.ID(), content: &content{}, entries: make(map[string]*fileReading, len(entries)), root: l.Files.ID()}
	for _, e := range entries {
		if kustomize.IsKustomizationFile(e.Name) && !e.IsDir() {
			at := problem.Pos{Layer: l.displayName(), File: path.Join(l.Prefix, dir, e.Name)}
			return &fileReading{id: t.ID(), content: readGuarded(l, at, func() *content { return p.readKustomization(env, l, dir) }), built: true, root: r.root}
		}
	}
	for i, e := range entries {
		if r.content.isFull() {
			r.content.countUnread(entries[i:])
			break
		}
		if p.isCanceled() { // and so is the layer
			break
		}
		file, known := path.Join(dir, e.Name), last.entries[e.Name]
		switch {
		case e.IsDir() && e.Name == decisionFolderName && isDecisionFolder(path.Join(l.Prefix, file)):
			continue
		case e.IsDir():
			r.entries[e.Name] = p.readFolder(env, l, file, e.Tree(), known)
		case path.Ext(e.Name) != ".yaml" && path.Ext(e.Name) != ".yml" || e.Mode == tree.ModeSubmodule:
			continue
		case e.Mode == tree.ModeSymlink:
			r.content.addUnreadLink(l, file)
			continue
		case known != nil && known.id == e.ID:
			r.entries[e.Name] = known
		default:
			r.entries[e.Name] = &fileReading{id: e.ID, content: readGuarded(l, problem.Pos{Layer: l.displayName(), File: path.Join(l.Prefix, file)}, func() *content { return p.readFile(env, l, file, e) })}
		}
		r.content.add(r.entries[e.Name].content)
		r.built = r.built || r.entries[e.Name].built
		if len(r.content.problems) > 4*maxProblems {
			r.content.problems = r.content.dropped.trimProblems(r.content.problems)
		}
	}
	r.content.problems = r.content.dropped.trimProblems(r.content.problems)
	return r
}

// ownerName returns the name of the Flux Kustomization that Kalypso would apply the layer
// with; every object has it as a label.
func (l Layer) ownerName(env string) string {
	switch l.Kind {
	case Env:
		return env
	case Base, Workloads:
		return env + "-" + l.Name
	}
	return ""
}

// maxFile bounds a file that is read.
const maxFile = 32 << 20

func (p *Parser) readFile(env string, l Layer, file string, e tree.Entry) *content {
	c := &content{}
	r := reader{env: env, layer: l, file: path.Join(l.Prefix, file), out: c, canceled: p.isCanceled}
	if e.Data == nil && e.ID != tree.HashBlob(nil) || len(e.Data) > maxFile {
		c.broken = true
		c.problems.Addf(r.positionAt(0), "", "exclude it with .sourceignore", "the file is too large to be read")
		return c
	}
	r.text = r.decodeText(e.Data)
	if line := manifest.InvalidLine(r.text); line > 0 {
		r.addUnreadable(problem.Problem{Pos: r.positionAt(line), Hint: "save it as UTF-8", Summary: "the file is not UTF-8 text"}, r.text)
		return c
	}
	r.readText(r.text)
	if l.Kind == Decisions && c.choices == nil {
		for i := range c.problems {
			policy := strings.TrimSuffix(path.Base(c.problems[i].Pos.File), path.Ext(c.problems[i].Pos.File))
			c.problems[i].Hint = "revert the commit that broke it"
			if HoldsDecision(r.text) {
				c.problems[i].Hint += ", or fairlead schedule forget " + policy + ", which has all of the policy decided again"
			}
		}
	}
	return c
}

// readKustomization builds the kustomization in dir. The objects' lines are not
// known: they are of the build's output.
func (p *Parser) readKustomization(env string, l Layer, dir string) *content {
	c := &content{}
	objects, problems := kustomize.Build(l.Files, dir)
	c.broken = problems.Stops()
	for _, found := range problems {
		found.Pos.Layer, found.Pos.File = l.displayName(), path.Join(l.Prefix, found.Pos.File)
		c.problems = append(c.problems, found)
	}
	for _, o := range objects {
		r := reader{env: env, layer: l, file: path.Join(l.Prefix, o.File), out: c, built: true, canceled: p.isCanceled}
		r.readText(o.YAML)
	}
	return c
}

// reader turns the documents of one file into objects.
type reader struct {
	env   string
	layer Layer
	file  string
	out   *content
	text  []byte // of the file
	built bool   // the text is the output of a build, and its lines are meaningless
	// canceled reports whether what is read is thrown away: one file may take a minute.
	canceled func() bool
}

func (r *reader) positionAt(line int) problem.Pos {
	return problem.Pos{Layer: r.layer.displayName(), File: r.file, Line: line}
}

func (r *reader) readText(data []byte) {
	objects, known := 0, len(r.out.clusters.credentials)
	for _, doc := range r.parseDocuments(data) {
		if r.canceled() {
			return
		}
		if yamldoc.IsNull(doc.root) {
			continue
		}
		if r.built {
			clearLines(doc.root)
		}
		objects++
		r.readDocument(doc, 0)
	}
	for _, c := range r.out.clusters.credentials[known:] {
		c.Mixed = c.Mixed || objects > len(r.out.clusters.credentials)-known
	}
}

func clearLines(n *yaml.Node) {
	n.Line = 0
	for _, c := range n.Content {
		clearLines(c)
	}
}

// teamDocuments counts what is written beside stacks in a team's repository.
const teamDocuments = "documents of teams that are no stacks"

// maxListDepth bounds Lists of Lists.
const maxListDepth = 4

func (r *reader) readDocument(doc document, depth int) {
	n := yamldoc.ResolveAlias(doc.root)
	d := &decoder{layer: r.layer.displayName(), file: r.file, problems: &r.out.problems, root: n, budget: nodeBudget, folded: !r.built && !doc.listed}
	if r.layer.Kind == TeamStacks && !isWrittenAsStack(n) { // charts, their values and the like
		r.out.countIgnored(teamDocuments, 1)
		return
	}
	if n.Kind != yaml.MappingNode {
		d.addProblem(n, "all YAML files of a control plane are read; exclude others with .sourceignore",
			"this is not a Kubernetes object, but %s", yamldoc.DescribeType(n))
		return
	}
	head := headerOf(n)
	if strings.HasSuffix(head.kind, "List") && head.items != nil && depth < maxListDepth {
		r.readList(doc, head, d, depth)
		return
	}
	if missing := head.missingField(); missing != "" {
		at, hint := n, "all YAML files of a control plane are read; exclude others with .sourceignore"
		if r.layer.Kind == TeamStacks {
			hint = "its spec is that of a stack: write the " + missing
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i]; problem.FindNearest(key.Value, []string{missing}) != "" {
				at, hint = key, fmt.Sprintf("did you mean %q? it has %q", missing, key.Value)
			}
		}
		d.addProblem(at, hint, "this is not a Kubernetes object: it has no %s", missing)
		return
	}
	r.readKind(n, head, d)
}

func (r *reader) readList(doc document, head header, d *decoder, depth int) {
	switch {
	case yamldoc.IsNull(head.items):
	case head.items.Kind != yaml.SequenceNode:
		d.addProblem(head.items, "write the objects below it, each with a dash", "items should be a list, but is %s", yamldoc.DescribeType(head.items))
	default:
		listed := doc.listed || head.kind != "List" || !doc.alone
		for _, item := range head.items.Content {
			r.readDocument(document{root: item, listed: listed}, depth+1)
		}
	}
}

func (r *reader) readKind(n *yaml.Node, h header, d *decoder) {
	group, version, _ := strings.Cut(h.apiVersion, "/")
	if group == Group || group == OwnGroup {
		d.subject = h.kind + "/" + nameOf(n)
	}
	if r.layer.Kind == Decisions && h.kind != DecisionKind {
		r.out.besides = append(r.out.besides, Object{Kind: h.kind, Name: nameOf(n), Pos: d.positionOf(n)})
	}
	switch {
	case r.layer.Kind == TeamStacks && !(isNearEnvironment(h.kind) && isStackObject(group, "Environment", n)):
		r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
	case r.layer.Kind == Decisions && r.readPlacementObject(n, h, d):
	case r.layer.Kind == Decisions && (group != OwnGroup || h.kind != DecisionKind && h.kind != ChoiceKind):
		d.addProblem(n, "", "this folder holds Decisions, Choices and objects of Open Cluster Management, and nothing else")
	case r.layer.Kind == Pins:
		readPinned(r, n, h, d)
	case group == Group && version != Version:
		d.addProblem(n, "", "unknown apiVersion %s; the kinds of Kalypso have %s", h.apiVersion, APIVersion)
	case group == Group && slices.Contains(generatedKinds, h.kind):
		r.ignoreObject(h, d, n, "is generated from the policies, and ignored when written by hand")
	case group == Group && !isKind(h.kind, Kinds):
		d.addProblem(n, kindHint(h.kind, Kinds), "unknown kind %s in %s", h.kind, Group)
	case group == Group && r.layer.Kind == Workloads && h.kind != "Workload" && h.kind != "DeploymentTarget":
		r.ignoreObject(h, d, n, "is ignored: the repository of a workload may contain Workloads and DeploymentTargets only")
	case group == Group && r.leaveOut(n, h, d):
		r.checkForeign(n, h)
	case group == Group:
		r.warnAppliedOnce(n, h, d)
		r.readKalypso(n, h.kind, d)
	case group == OwnGroup:
		r.readOwn(n, h, d)
	case isStackObject(group, h.kind, n):
		r.readStackKind(n, h, d)
	case group == claudie.Group:
		r.readClaudieKind(n, h, d)
	case isCredential(h):
		r.readCredential(n, h)
	case h.apiVersion == "v1" && h.kind == "ConfigMap" && r.leaveOut(n, h, d):
		r.checkForeign(n, h)
	case h.apiVersion == "v1" && h.kind == "ConfigMap":
		r.readConfigMap(n, d)
	default:
		r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
		r.checkForeign(n, h)
		if near := problem.FindNearest(group, []string{Group}); near != "" && isKind(h.kind, Kinds) {
			r.out.problems.Warnf(d.positionOf(n), h.kind+"/"+nameOf(n), fmt.Sprintf("did you mean %q?", APIVersion), "unknown apiVersion %s: the object is ignored", h.apiVersion)
		}
	}
}

func (r *reader) ignoreObject(h header, d *decoder, n *yaml.Node, why string) {
	r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
	r.checkForeign(n, h)
	r.out.problems.Warnf(d.positionOf(n), h.kind+"/"+nameOf(n), "", "%s %s", h.kind, why)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
