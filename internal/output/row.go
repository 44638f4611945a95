package output

import (
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/manifest"
	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/tree"
	"github.com/fairlead-io/fairlead/internal/values"
)

// row is what one cluster type came to: the assignments on it, with what each
// read and the id of its folder.
type row struct {
	context context  // all that the row was made from, but its targets
	members *members // its targets; shared with other rows
	cells   []cell   // one for each of them
	id      tree.ID
}

// context is what the folder of a cluster type is made from beside its targets. The
// labels and the configs together say which values a target has there.
type context struct {
	templates [3]digest
	labels    digest
	configs   digest
}

// members are the targets of rows, in Git's order of their folders.
type members struct {
	digest digest // of all of them
	names  []string
	reads  []digest // of all that templates see of each, and what it waits for
}

// cell is one assignment. It holds no pointers, so that 100,000 of them cost the
// garbage collector nothing.
type cell struct {
	reads cellKey
	id    tree.ID
}

// cellKey is what an assignment depends on beside what its whole row reads: its
// target and what it waits for; its values and the schemas that check them.
type cellKey struct{ target, values digest }

// worker renders rows, one at a time.
type worker struct {
	pass    *pass
	buffer  []byte
	entries []tree.Entry
	shapes  [3]render.Shape // of the texts that were rendered last
}

// row renders cluster type i, taking over what is known from the last run.
func (w *worker) row(i int) *row {
	p := w.pass
	set := p.sets[i]
	r := &row{context: p.context(i), members: &set.members}
	old := p.cache.rows[p.model.ClusterTypes[i].Name]
	if old == nil {
		r.cells = w.cells(i, &row{members: &members{}})
		r.id = w.folder(r)
		return r
	}
	if old.context == r.context && old.members.digest == set.digest {
		return old
	}
	changed, same := p.changed(old.members, set)
	if same && old.context == r.context {
		r.cells = slices.Clone(old.cells)
		for _, k := range changed {
			r.cells[k] = w.cell(i, k)
		}
	} else {
		r.cells = w.cells(i, old)
	}
	if r.id = old.id; !same || !r.sameFolders(old) {
		r.id = w.folder(r)
	}
	return r
}

// folder gives the id of the folder that the cells of a row make.
func (w *worker) folder(r *row) tree.ID {
	w.entries = r.entries(w.entries[:0], nil)
	return tree.HashTree(w.entries)
}

// cells makes all cells of a row. Those that depend on the same as an old one are
// taken over.
func (w *worker) cells(i int, old *row) []cell {
	set := w.pass.sets[i]
	cells := make([]cell, len(set.order))
	known := old.members.names
	if old.context.templates != w.pass.context(i).templates {
		known = nil
	}
	next := 0
	for k, name := range set.names {
		for next < len(known) && compareFolders(known[next], name) < 0 {
			next++
		}
		if next < len(known) && known[next] == name && old.cells[next].reads == w.pass.cellKey(i, k) {
			cells[k] = old.cells[next]
			continue
		}
		cells[k] = w.cell(i, k)
	}
	return cells
}

func (p *pass) cellKey(i, k int) cellKey {
	set := p.sets[i]
	return cellKey{set.reads[k], valuesDigest(p.values.For(i, set.order[k]))}
}

// compareFolders is Git's order of folders.
func compareFolders(a, b string) int {
	if a == b {
		return 0
	}
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	if len(a) < len(b) {
		return int('/') - int(b[n])
	}
	return int(a[n]) - int('/')
}

// sameFolders compares with a row of the same targets.
func (r *row) sameFolders(o *row) bool {
	for i := range r.cells {
		if r.cells[i].id != o.cells[i].id {
			return false
		}
	}
	return true
}

// entries appends what is in the folder of the cluster type, in Git's order; load
// gives the folder of the cell at an index (nil: only the ids matter).
func (r *row) entries(into []tree.Entry, load func(i int) tree.Tree) []tree.Entry {
	written := false
	for i, name := range r.members.names {
		if !written && name > readmeName {
			into, written = append(into, readme), true
		}
		e := tree.Entry{Name: name, Mode: tree.ModeDir, ID: r.cells[i].id}
		if load != nil {
			e = tree.Dir(name, tree.Lazy(r.cells[i].id, func() tree.Tree { return load(i) }))
		}
		into = append(into, e)
	}
	if !written {
		into = append(into, readme)
	}
	return into
}

var readme = tree.File(readmeName, []byte(ReadmeText))

// clusterType gives the folder of cluster type i, whose files are rendered when
// they are asked for.
func (p *pass) clusterType(i int, r *row) tree.Tree {
	set := p.sets[i]
	return tree.FromEntries(r.entries(nil, func(k int) tree.Tree {
		w, j := worker{pass: p}, set.order[k]
		files, _ := w.render(i, j, p.values.For(i, j), set.waits[j])
		return files.tree()
	}))
}

// cell renders and checks the assignment of the target at index k of the row of
// cluster type i. What is wrong is reported; the id does not matter then.
func (w *worker) cell(i, k int) cell {
	p := w.pass
	j := p.sets[i].order[k]
	v := p.values.For(i, j)
	c := cell{reads: p.cellKey(i, k)}
	p.cache.rendered.Add(1)
	p.validate(i, j, v)
	if files, ok := w.render(i, j, v, p.sets[i].waits[j]); ok {
		w.check(i, j, files)
		c.id = files.id()
	}
	return c
}

// files are the texts of one assignment, valid until the worker renders again.
type files struct {
	reconciler, namespace, config []byte
	configName                    string
}

// render expands the templates of an assignment. It reports the mistakes, all
// that there are.
func (w *worker) render(i, j int, v *values.Values, waits []string) (files, bool) {
	p := w.pass
	t, c := p.model.Targets[j], p.model.ClusterTypes[i]
	d := render.Data{
		DeploymentTargetName: t.Name, Namespace: p.namespace(c, t), Environment: p.model.Environment,
		Workspace: t.Workspace, Workload: t.Workload, Labels: t.Labels, Manifests: t.Manifests,
		ClusterType: c.Name, ConfigData: v.Data, DependsOn: waits,
	}
	scope := render.Scope{ClusterType: c, Target: t, Values: v.Digest}
	ok := true
	w.buffer = w.buffer[:0]
	expand := func(c *compiled, shape *render.Shape) (from, to int) {
		from = len(w.buffer)
		shape.Reset()
		if c == nil {
			ok = false
			return from, from
		}
		text, mistakes := c.template.Expand(&p.texts, w.buffer, &d, scope, shape)
		for _, m := range mistakes {
			p.inTemplate(c.template, &m, assignment{i, j})
		}
		if mistakes != nil {
			ok = false
			return from, from
		}
		ok = ok && len(c.problems) == 0
		w.buffer = text
		return from, len(text)
	}
	ts := p.templates[i]
	r0, r1 := expand(ts.reconciler, &w.shapes[0])
	n0, n1 := expand(ts.namespace, &w.shapes[1])
	c0, c1 := expand(ts.config, &w.shapes[2])
	f := files{reconciler: w.buffer[r0:r1:r1], namespace: w.buffer[n0:n1:n1], config: w.buffer[c0:c1:c1]}
	if ts.config != nil {
		f.configName = configName(ts.config.template.Model.ContentType)
	}
	return f, ok
}

// configName is the name of the file with the values. Kalypso knows "sh"; all
// other content types but ours are ".yaml".
func configName(contentType string) string {
	switch contentType {
	case "sh", "tfvars":
		return "platform-config." + contentType
	}
	return "platform-config.yaml"
}

// entries are the files of the folder, in Git's order.
func (f *files) entries(into []tree.Entry) []tree.Entry {
	into = append(into, tree.File("namespace.yaml", f.namespace))
	if len(f.config) > 0 {
		into = append(into, tree.File(f.configName, f.config))
	}
	return append(into, tree.File("reconciler.yaml", f.reconciler))
}

// id gives the id of the folder, without keeping its contents.
func (f *files) id() tree.ID {
	var room [3]tree.Entry
	return tree.HashTree(f.entries(room[:0]))
}

// tree makes the folder, with contents of its own.
func (f *files) tree() tree.Tree {
	entries := f.entries(nil)
	for i := range entries {
		entries[i].Data = slices.Clone(entries[i].Data)
	}
	return tree.FromEntries(entries)
}

func (p *pass) namespace(c *model.ClusterType, t *model.Target) string {
	return p.model.Environment + "-" + c.Name + "-" + t.Name
}

// isYAML reports whether the text of a config template is YAML: a template that
// says another content type makes what it likes.
func isYAML(contentType string) bool {
	return contentType == "" || contentType == "yaml" || contentType == "yml"
}

// check looks at the texts that were rendered last, and at the name of the
// namespace if a template uses it.
func (w *worker) check(i, j int, f files) {
	p, ts := w.pass, w.pass.templates[i]
	inspect := func(c *compiled, file string, text []byte, shape *render.Shape) {
		key, known := shape.Key()
		if known && c.fine.has(key) {
			return
		}
		findings := manifest.Check(text)
		for _, finding := range findings {
			p.found.inText(c.template, file, finding, assignment{i, j})
		}
		if known && findings == nil {
			c.fine.add(key)
		}
	}
	inspect(ts.reconciler, "reconciler.yaml", f.reconciler, &w.shapes[0])
	inspect(ts.namespace, "namespace.yaml", f.namespace, &w.shapes[1])
	if isYAML(ts.config.template.Model.ContentType) {
		inspect(ts.config, f.configName, f.config, &w.shapes[2])
	}
	p.checkNamespace(i, j)
}

// shapeSet has the shapes of texts that were checked and found to be fine.
type shapeSet struct {
	mu    sync.RWMutex
	known map[string]struct{}
}

// maxShapes bounds what is remembered for a template.
const maxShapes = 1 << 12

func (s *shapeSet) has(key []byte) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.known[string(key)]
	return ok
}

func (s *shapeSet) add(key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxShapes {
		s.known = map[string]struct{}{}
	}
	s.known[string(key)] = struct{}{}
}
