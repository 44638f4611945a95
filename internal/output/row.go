package output

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/manifest"
	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/tree"
	"github.com/fairlead-io/fairlead/internal/values"
)

// row is what one cluster type came to: the assignments on it, with what each
// read and the id of its folder.
type row struct {
	inputs digest   // of all that the row was made from
	base   digest   // of what all assignments of it read
	names  []string // of its targets, in Git's order; shared with other rows
	cells  []cell   // one for each name
	id     tree.ID
}

// cell is one assignment. It holds no pointers, so that 100,000 of them cost the
// garbage collector nothing.
type cell struct {
	reads cellKey
	id    tree.ID
}

// cellKey is what an assignment depends on beside what its whole row reads: its
// target; its values, what it waits for, and the schemas that check it.
type cellKey struct{ target, rest digest }

// worker renders rows, one at a time.
type worker struct {
	pass    *pass
	buffer  []byte
	entries []tree.Entry
}

// row renders cluster type i, taking over what is known from the last run.
func (w *worker) row(i int) *row {
	p := w.pass
	old := p.cache.rows[p.model.ClusterTypes[i].Name]
	base := p.baseDigest(i)
	inputs := p.rowDigest(i, base)
	if old != nil && old.inputs == inputs {
		return old
	}
	known := &row{}
	if old != nil && old.base == base {
		known = old
	}
	set := p.sets[i]
	r := &row{inputs: inputs, base: base, names: set.names, cells: make([]cell, len(set.order))}
	next := 0 // in known
	for k, j := range set.order {
		v := p.values.For(i, j)
		key := cellKey{p.targets[j], restDigest(v, set.waits[j])}
		for next < len(known.names) && compareFolders(known.names[next], set.names[k]) < 0 {
			next++
		}
		if next < len(known.names) && known.names[next] == set.names[k] && known.cells[next].reads == key {
			r.cells[k] = known.cells[next]
			continue
		}
		r.cells[k] = cell{key, w.cell(i, j, v, set.waits[j])}
	}
	if old != nil && r.sameFolders(old) {
		r.id = old.id
	} else {
		w.entries = r.entries(w.entries[:0], nil)
		r.id = tree.HashTree(w.entries)
	}
	return r
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

func (r *row) sameFolders(o *row) bool {
	if !slices.Equal(r.names, o.names) {
		return false
	}
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
	for i, name := range r.names {
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

var readme = tree.File(readmeName, []byte(readmeText))

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

// cell renders and checks one assignment, and gives the id of its folder. What is
// wrong is reported; the id does not matter then.
func (w *worker) cell(i, j int, v *values.Values, waits []string) tree.ID {
	p := w.pass
	p.cache.rendered.Add(1)
	p.validate(i, j, v)
	files, ok := w.render(i, j, v, waits)
	if !ok {
		return tree.ID{}
	}
	p.check(i, j, files)
	return files.id()
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
	expand := func(c *compiled) (from, to int) {
		from = len(w.buffer)
		if c == nil {
			ok = false
			return from, from
		}
		text, mistake := c.template.Expand(&p.texts, w.buffer, &d, scope)
		if mistake != nil {
			p.found.inTemplate(c.template, mistake, assignment{i, j})
			ok = false
			return from, from
		}
		ok = ok && len(c.problems) == 0
		w.buffer = text
		return from, len(text)
	}
	ts := p.templates[i]
	r0, r1 := expand(ts.reconciler)
	n0, n1 := expand(ts.namespace)
	c0, c1 := expand(ts.config)
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

// check looks at the rendered text, and at the name of the namespace if a template
// uses it.
func (p *pass) check(i, j int, f files) {
	ts := p.templates[i]
	inspect := func(c *compiled, text []byte) {
		for _, finding := range manifest.Check(text) {
			p.found.inText(c.template, finding, assignment{i, j})
		}
	}
	inspect(ts.reconciler, f.reconciler)
	inspect(ts.namespace, f.namespace)
	if isYAML(ts.config.template.Model.ContentType) {
		inspect(ts.config, f.config)
	}
	p.checkNamespace(i, j)
}
