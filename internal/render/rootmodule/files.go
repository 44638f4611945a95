package rootmodule

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// foundFile is a file, or a folder, of the layer that a stack is in.
type foundFile struct {
	pos   problem.Pos
	entry tree.Entry
}

func (f foundFile) positionAt(line int) problem.Pos {
	return problem.Pos{Layer: f.pos.Layer, File: f.pos.File, Line: line}
}

// overlayField is the field that names files of people beside the generated ones.
const overlayField = "overlayFiles"

type namedFile struct {
	field        string
	source, path model.Text
	ref          string
	layer        string // that it is in if source is ""; "" for the one that names it
}

func lineOfFile(path, source model.Text) int {
	if path.Line < 0 { // of a blueprint
		return path.Line
	}
	return max(path.Line, source.Line)
}

// findFile returns a file that a component names. It reports one that cannot be read.
func (g *generator) findFile(n namedFile) (foundFile, bool) {
	c := g.component
	s := c.Stack
	line := lineOfFile(n.path, n.source)
	own := cmp.Or(n.layer, s.LayerAt(line))
	repo, ref := s.FindSource(g.model, own, n.source.Text, n.ref)
	if n.source.Text == "" && n.field != moduleField {
		g.problems.Warnf(s.PositionAt(line), s.Subject(), "", "component %s: %s has no source, which CloudKnit does not take: it is read from the repository of the stack", c.Name, n.field)
	}
	switch {
	case ref == "":
	case repo == "":
		g.problems.Warnf(s.PositionAt(line), s.Subject(), "remove ref", "component %s: %s is read at the commit that is rendered, and not at %s", c.Name, n.field, ref)
	case n.field != moduleField:
		g.problems.Warnf(s.PositionAt(line), s.Subject(), "", "component %s: %s is read at %s; CloudKnit reads the default branch, whatever ref is", c.Name, n.field, ref)
	}
	name := own
	if repo != "" {
		name = stack.SourceName(repo, ref)
	}
	layer, read := g.model.Stacks.Layers[name]
	if !read {
		g.problems = append(g.problems, problem.Problem{
			Pos: s.PositionAt(line), Subject: s.Subject(), OfAbsence: true, // why it was not read says another problem
			Summary: fmt.Sprintf("component %s: %s: %s was not read", c.Name, n.field, name),
		})
		return foundFile{}, false
	}
	if g.reportUnread(layer, line) {
		return foundFile{}, false
	}
	return g.findInLayer(n, layer, name, line)
}

func (g *generator) reportUnread(layer model.Layer, line int) bool {
	if layer.Unread.Summary != "" {
		g.addf(line, layer.Unread.Hint, "component %s: %s", g.component.Name, layer.Unread.Summary)
	}
	return layer.Unread.Summary != ""
}

func (g *generator) findInLayer(n namedFile, layer model.Layer, name string, line int) (foundFile, bool) {
	c, file := g.component, n.path.Text
	where := "folder of the environment"
	switch layer.Kind {
	case model.Files:
		where = "repository"
	case model.Base:
		where = "folder of the base"
	}
	inLayer, inside := cutFolder(path.Clean("/" + file)[1:], path.Clean("/" + layer.Prefix)[1:])
	found := foundFile{pos: problem.Pos{Layer: name, File: path.Clean("/" + file)[1:]}}
	if !inside || strings.Contains("/"+file+"/", "/../") {
		g.addf(line, "move it into the "+where, "component %s: %s: %s is outside of the %s", c.Name, n.field, file, where)
		return found, false
	}
	if inLayer == "" && n.field == variablesField {
		g.addf(line, "", "component %s: %s: %s is a folder", c.Name, n.field, file)
		return found, false
	}
	if inLayer == "" && n.field == overlayField && layer.Kind != model.Files {
		g.addf(line, "name files, or a folder with nothing else", "component %s: %s: %s is all of the %s: every commit to it would be another plan", c.Name, n.field, file, where)
		return found, false
	}
	if inLayer == "" {
		found.entry = tree.Dir("", layer.Files)
		return found, true
	}
	entry, ok := layer.Files.Lookup(inLayer)
	switch {
	case !ok:
		g.addf(line, "the path is from the root of the repository", "component %s: %s: there is no file %s%s", c.Name, n.field, file, describeLayer(layer))
		return found, false
	case entry.Mode == tree.ModeSymlink || entry.Mode == tree.ModeSubmodule:
		g.addf(line, "", "component %s: %s: %s is a link, and is not read", c.Name, n.field, file)
		return found, false
	case !entry.IsDir() && entry.Data == nil && entry.ID != tree.HashBlob(nil):
		g.addf(line, "", "component %s: %s: %s is too large to be read", c.Name, n.field, file)
		return found, false
	case entry.IsDir() && n.field == variablesField:
		g.addf(line, "", "component %s: %s: %s is a folder", c.Name, n.field, file)
		return found, false
	}
	found.entry = entry
	return found, true
}

// describeLayer returns where a file was looked for, if that is not the branch of the environment.
func describeLayer(l model.Layer) string {
	switch l.Kind {
	case model.Files:
		return " in " + l.Name
	case model.Base:
		return " in the base"
	}
	return ""
}

func cutFolder(file, folder string) (rest string, inside bool) {
	if folder == "" || file == folder {
		return strings.TrimPrefix(file, folder), true
	}
	return strings.CutPrefix(file, folder+"/")
}

// addOverlays adds the files of people, which may take the place of generated ones.
func (g *generator) addOverlays() {
	c, owners := g.component, map[string]string{}
	for _, o := range c.OverlayFiles {
		paths := o.Paths
		if o.Path.Text != "" {
			g.problems.Warnf(c.Stack.PositionAt(o.Path.Line), c.Stack.Subject(), "write it as paths: ["+o.Path.Text+"]", "component %s: overlayFiles has a path, which CloudKnit does not take", c.Name)
			paths = append(paths[:len(paths):len(paths)], o.Path)
		}
		if len(paths) == 0 {
			g.addf(c.StackComponent.Name.Line, "", "component %s: overlayFiles names no paths", c.Name)
		}
		for _, p := range paths {
			if found, ok := g.findFile(namedFile{field: overlayField, source: o.Source, path: p, ref: o.Ref}); ok {
				g.addOverlay(p, found, owners)
			}
		}
	}
	for _, o := range c.OverlayData {
		switch err := tree.CheckPath(o.Name.Text); {
		case err != nil || strings.Contains(o.Name.Text, "/"):
			g.addf(o.Name.Line, "it is the name of a file", "component %s: the name of overlayData cannot be %q", c.Name, o.Name.Text)
		default:
			g.setOverlay(o.Name, o.Name.Text, []byte(o.Data.Text), "overlayData "+o.Name.Text, owners)
		}
	}
}

func (g *generator) addOverlay(written model.Text, found foundFile, owners map[string]string) {
	if !found.entry.IsDir() {
		g.setOverlayFile(written, path.Base(written.Text), found.entry.Data, written.Text, owners)
		return
	}
	g.copyFolder(overlayField, written, found, func(file string, data []byte) {
		g.setOverlayFile(written, file, data, path.Join(written.Text, file), owners)
	})
}

// copyFolder calls add for all files of a folder. It reports those that cannot be read.
func (g *generator) copyFolder(field string, written model.Text, found foundFile, add func(file string, data []byte)) {
	for file, e := range found.entry.Tree().Walk() {
		switch {
		case e.Mode == tree.ModeSymlink || e.Mode == tree.ModeSubmodule:
			g.addf(written.Line, "", "component %s: %s: %s is a link, and is not read", g.component.Name, field, path.Join(written.Text, file))
		case e.Data == nil && e.ID != tree.HashBlob(nil):
			g.addf(written.Line, "", "component %s: %s: %s is too large to be read", g.component.Name, field, path.Join(written.Text, file))
		default:
			add(file, e.Data)
		}
	}
}

// setOverlayFile sets an overlay that is a file of a repository, and reports a secret in it: those of overlayData were
// reported.
func (g *generator) setOverlayFile(written model.Text, name string, data []byte, from string, owners map[string]string) {
	if g.setOverlay(written, name, data, from, owners) && stack.HasSecret(string(data)) {
		g.addf(written.Line, "read it from a secret, and change it: it is in the history of the repository", "component %s: overlayFiles: %s holds a secret in clear", g.component.Name, from)
	}
}

// setOverlay sets a file of the root module, and reports whether it could.
func (g *generator) setOverlay(written model.Text, name string, data []byte, from string, owners map[string]string) bool {
	if other, taken := owners[name]; taken {
		g.addf(written.Line, "give one of them another name", "component %s: the overlays %s and %s are both %s", g.component.Name, other, from, name)
		return false
	}
	if isState(name) {
		g.reportState(overlayField, written, from)
		return false
	}
	owners[name] = from
	g.files[name] = data
	g.overlays[name] = true
	return true
}
