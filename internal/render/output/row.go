package output

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/render"
)

// row is the result for one cluster type: assignments, their inputs and the folder's
// id.
type row struct {
	inputs  rowInputs
	members *members // shared with other rows
	cells   cells    // parallel to members
	id      tree.ID
}

// rowInputs is what a cluster type's folder depends on besides targets. Labels and
// configs determine the values.
type rowInputs struct {
	templates [3]digest
	labels    digest
	configs   digest
}

// members are the targets of rows, in Git's order.
type members struct {
	digest digest // of all of them
	names  []string
	reads  []digest // of templates' inputs and dependencies
}

// cell is one assignment. It has no pointers, for the garbage collector's sake.
type cell struct {
	values digest  // with schemas
	id     tree.ID // of the folder
	texts  [3]tree.ID
	// changesData is true if a template changes its data, which later ones see.
	changesData bool
	// missing has a bit for each text with a missing value.
	missing uint8
}

// cells are in chunks. Finished rows are immutable: changes copy chunks.
type cells []*[chunk]cell

const chunk = 16

func (c cells) get(k int) *cell { return &c[k/chunk][k%chunk] }

// withWritable copies the chunks at the given sorted indexes.
func (c cells) withWritable(changed []int) cells {
	c = slices.Clone(c)
	last := -1
	for _, k := range changed {
		if i := k / chunk; i != last {
			own := *c[i]
			c[i], last = &own, i
		}
	}
	return c
}

// The texts of an assignment, in Git's order. Cells keep ids, so texts that are
// rendered again need no hashing.
const (
	namespaceText = iota
	configText    // zero id for none
	reconcilerText
)

// expansionOrder is Kalypso's order, since templates see earlier changes of values.
var expansionOrder = [...]int{reconcilerText, namespaceText, configText}

// worker renders rows, one at a time.
type worker struct {
	pass    *pass
	buffer  []byte
	encoded []byte          // a folder
	shapes  [3]render.Shape // of the last texts
}

// renderRow renders cluster type i, reusing unchanged cells. The text of the folder is
// "" if unchanged.
func (w *worker) renderRow(i int) (*row, string) {
	p := w.pass
	set := p.sets[i]
	now, old := p.rowInputs(i), p.cache.rows[p.model.ClusterTypes[i].Name]
	if old != nil && old.inputs == now && old.members.digest == set.members.digest {
		return old, ""
	}
	r := &row{inputs: now, members: &set.members}
	if old == nil {
		r.cells = w.renderCells(i, &row{members: &members{}})
		return r, w.hashFolder(r)
	}
	changed, same := p.changedMembers(old.members, set)
	if same && old.inputs == r.inputs {
		r.cells = old.cells.withWritable(changed)
		for _, k := range changed {
			*r.cells.get(k) = w.renderCell(i, k)
		}
	} else {
		r.cells = w.renderCells(i, old)
	}
	if same && r.sameFolders(old) {
		r.id = old.id
		return r, ""
	}
	return r, w.hashFolder(r)
}

// hashFolder sets the folder's id and returns its tree object.
func (w *worker) hashFolder(r *row) string {
	w.encoded = r.appendText(w.encoded[:0])
	r.id = tree.HashText(w.encoded)
	return string(w.encoded)
}

func (w *worker) renderCells(i int, old *row) cells {
	set := w.pass.sets[i]
	all := make(cells, (len(set.order)+chunk-1)/chunk)
	for n := range all {
		all[n] = new([chunk]cell)
	}
	known := old.members.names
	if old.inputs.templates != w.pass.rowInputs(i).templates {
		known = nil
	}
	next := 0
	for k, name := range set.members.names {
		for next < len(known) && compareFolders(known[next], name) < 0 {
			next++
		}
		if next < len(known) && known[next] == name && old.members.reads[next] == set.members.reads[k] && old.cells.get(next).values == valuesDigest(w.pass.values.ValuesOf(i, set.order[k])) {
			*all.get(k) = *old.cells.get(next)
			continue
		}
		*all.get(k) = w.renderCell(i, k)
	}
	return all
}

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
	for i, c := range r.cells {
		if c == o.cells[i] {
			continue
		}
		for k := range c {
			if c[k].id != o.cells[i][k].id {
				return false
			}
		}
	}
	return true
}

// appendText appends the folder's tree object without building entries, of which a
// fleet-wide change would need 100,000.
func (r *row) appendText(text []byte) []byte {
	written := false
	for i, name := range r.members.names {
		if !written && name > readmeName {
			text, written = tree.AppendTree(text, readme), true
		}
		text = tree.AppendEntry(text, tree.ModeDir, name, r.cells.get(i).id)
	}
	if !written {
		text = tree.AppendTree(text, readme)
	}
	return text
}

var readme = []tree.Entry{tree.File(readmeName, []byte(ReadmeText))}

// clusterTypeFolder renders files when they are read. If text is "", it is encoded on
// opening.
func (p *pass) clusterTypeFolder(i int, r *row, text string) tree.Tree {
	if text != "" {
		return p.openFolder(i, r, text)
	}
	return tree.Lazy(r.id, 0, func() tree.Tree { return p.openFolder(i, r, string(r.appendText(nil))) })
}

func (p *pass) openFolder(i int, r *row, text string) tree.Tree {
	open := func(e tree.Entry) tree.Tree {
		k, _ := slices.BinarySearchFunc(r.members.names, e.Name, compareFolders)
		c, files := r.cells.get(k), len(expansionOrder)
		if c.texts[configText] == (tree.ID{}) {
			files--
		}
		return tree.Lazy(c.id, files, func() tree.Tree { return p.assignmentFolder(i, k, c) })
	}
	return tree.FromText(r.id, text, func(e tree.Entry) tree.Entry {
		if !e.IsDir() {
			return readme[0]
		}
		return tree.UnreadDir(e.Name, e.ID, open)
	})
}

// assignmentFolder renders each file when it is read, since changes mostly need one.
func (p *pass) assignmentFolder(i, k int, c *cell) tree.Tree {
	var room [256]byte // enough for three entries
	return tree.FromText(c.id, string(p.appendFolder(room[:0], i, c)), func(e tree.Entry) tree.Entry {
		names := p.fileNames(i)
		e.Data = p.renderText(i, k, slices.Index(names[:], e.Name), c.changesData)
		return e
	})
}

func (p *pass) fileNames(i int) [3]string {
	names := [...]string{namespaceText: "namespace.yaml", reconcilerText: ReconcilerName}
	if config := p.templates[i][configText]; config != nil {
		names[configText] = config.template.Model.ConfigFile()
	}
	return names
}

func (p *pass) appendFolder(text []byte, i int, c *cell) []byte {
	for which, name := range p.fileNames(i) {
		if c.texts[which] != (tree.ID{}) {
			text = tree.AppendEntry(text, tree.ModeFile, name, c.texts[which])
		}
	}
	return text
}

// renderText renders one valid text again. If templates change data, it first renders
// the earlier texts.
func (p *pass) renderText(i, k, which int, changes bool) []byte {
	w, ok := p.workers.Get().(*worker)
	if !ok {
		w = &worker{pass: p}
	}
	defer p.workers.Put(w)
	j := p.sets[i].order[k]
	d, scope := p.templateData(i, j, p.values.ValuesOf(i, j), p.sets[i].waits[j])
	for _, earlier := range expansionOrder {
		if earlier == which {
			break
		}
		if changes {
			w.buffer, _ = w.expandText(w.buffer[:0], earlier, &d, scope, assignment{i, j})
		}
	}
	text, _ := w.expandText(w.buffer[:0], which, &d, scope, assignment{i, j})
	w.buffer = text
	return bytes.Clone(text)
}

// renderCell renders and checks an assignment and reports its problems. The id is
// meaningless after a problem.
func (w *worker) renderCell(i, k int) cell {
	p := w.pass
	if p.isCanceled() || p.texts.Exhausted() {
		return cell{}
	}
	j := p.sets[i].order[k]
	v := p.values.ValuesOf(i, j)
	c := cell{values: valuesDigest(v)}
	p.cache.rendered.Add(1)
	p.validateValues(i, j, v)
	d, scope := p.templateData(i, j, v, p.sets[i].waits[j])
	texts, ok := w.expandTexts(&d, scope, assignment{i, j})
	if !ok {
		return c
	}
	w.checkTexts(i, j, texts)
	c.changesData = d.HasChanges()
	for which, text := range texts {
		if which != configText || len(text) > 0 {
			c.texts[which] = tree.HashBlob(text)
		}
		if p.options.Templates.PublishMissing && render.HasMissing(text) {
			c.missing |= 1 << which
		}
	}
	w.encoded = p.appendFolder(w.encoded[:0], i, &c)
	c.id = tree.HashText(w.encoded)
	return c
}

// expandTexts expands all templates and reports all mistakes; false if any. The texts
// are valid until the worker renders again.
func (w *worker) expandTexts(d *render.Data, scope render.Scope, at assignment) (texts [3][]byte, ok bool) {
	text, ok := w.buffer[:0], true
	var ends [len(expansionOrder)]int
	for n, which := range expansionOrder {
		var fine bool
		text, fine = w.expandText(text, which, d, scope, at)
		ends[n], ok = len(text), ok && fine
	}
	w.buffer = text
	start := 0
	for n, which := range expansionOrder {
		texts[which], start = text[start:ends[n]:ends[n]], ends[n]
	}
	return texts, ok
}

func (p *pass) templateData(i, j int, v *values.Values, waits []string) (render.Data, render.Scope) {
	t, c := p.model.Targets[j], p.model.ClusterTypes[i]
	return render.Data{
		DeploymentTargetName: t.Name, Namespace: p.namespaceName(c, t), Environment: p.model.Environment,
		Workspace: t.Workspace, Workload: t.Workload, Labels: t.Labels, Manifests: t.Manifests,
		ClusterType: c.TypeName(), ConfigData: v.Data, DependsOn: waits,
	}.WithVersions(t.Pinned), render.Scope{ClusterType: c, Target: t, Values: v.Digest, Team: t.Team}
}

// expandText appends one text and reports mistakes. fine is false for mistakes or a
// missing template.
func (w *worker) expandText(text []byte, which int, d *render.Data, scope render.Scope, at assignment) (_ []byte, fine bool) {
	shape := &w.shapes[which]
	shape.Reset()
	c := w.pass.templates[at.clusterType][which]
	if c == nil {
		return text, false
	}
	expanded, mistakes := c.template.Expand(&w.pass.texts, text, d, scope, shape)
	for _, m := range mistakes {
		if w.pass.texts.Exhausted() { // reported once at the end
			break
		}
		w.pass.reportMistake(c.template, &m, at)
	}
	if mistakes != nil {
		return text, false
	}
	return expanded, len(c.problems) == 0
}

func (p *pass) namespaceName(c *model.ClusterType, t *model.Target) string {
	return p.model.Environment + "-" + c.TypeName() + "-" + t.Name
}

// yamlTypes are content types whose text must be YAML.
var yamlTypes = []string{"", "yaml", "yml"}

func (w *worker) checkTexts(i, j int, texts [3][]byte) {
	p, names := w.pass, w.pass.fileNames(i)
	for which, text := range texts {
		c := p.templates[i][which]
		key, known := w.shapes[which].Key()
		if known && c.fine.has(key) || which == configText && !slices.Contains(yamlTypes, c.template.Model.ContentType) {
			continue
		}
		findings := manifest.Check(text)
		for _, finding := range findings {
			found := c.template.Problem(&render.Mistake{})
			found.Summary, found.Hint = fmt.Sprintf("it makes a %s that cannot be published: %s", names[which], finding.Summary), finding.Hint
			if finding.Line > 0 {
				found.Summary = fmt.Sprintf("%s (line %d of it)", found.Summary, finding.Line)
			}
			p.found.addForAssignment(assignment{i, j}, found)
		}
		if known && findings == nil {
			c.fine.add(key)
		}
	}
	p.checkNamespace(i, j)
	p.checkName(i, j)
}

// shapeSet has the shapes of valid texts.
type shapeSet struct {
	mu    sync.RWMutex
	known map[string]struct{}
}

// maxShapes bounds the shapes of a template.
const maxShapes = 1 << 10

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
