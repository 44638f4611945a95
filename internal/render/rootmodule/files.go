package rootmodule

import (
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

// findFile returns a file that a component names. It reports one that cannot be read.
func (g *generator) findFile(field string, source, file model.Text, ref string) (foundFile, bool) {
	c := g.component
	s := c.Stack
	line := max(file.Line, source.Line)
	if source.Text != "" && !s.IsOwnRepository(g.model, source.Text) {
		g.addf(line, "copy it to the branch of the environment, and leave source out", "component %s: %s: files of other repositories are not supported yet, and %s is one", c.Name, field, source.Text)
		return foundFile{}, false
	}
	if source.Text == "" {
		g.problems.Warnf(s.PositionAt(line), s.Subject(), "", "component %s: %s has no source, which CloudKnit does not take: it is read from the repository of the stack", c.Name, field)
	}
	if ref != "" && ref != "HEAD" {
		g.problems.Warnf(s.PositionAt(line), s.Subject(), "remove ref", "component %s: %s is read at the commit that is rendered, and not at %s", c.Name, field, ref)
	}
	layer := g.model.Stacks.Layers[s.Pos.Layer]
	inLayer, inside := cutFolder(path.Clean("/" + file.Text)[1:], path.Clean("/" + layer.Prefix)[1:])
	found := foundFile{pos: problem.Pos{Layer: s.Pos.Layer, File: path.Clean("/" + file.Text)[1:]}}
	if !inside || strings.Contains("/"+file.Text+"/", "/../") {
		g.addf(line, "move it into the folder of the environment", "component %s: %s: %s is outside of the folder of the environment", c.Name, field, file.Text)
		return found, false
	}
	if inLayer == "" {
		found.entry = tree.Dir("", layer.Files)
		return found, true
	}
	entry, ok := layer.Files.Lookup(inLayer)
	switch {
	case !ok:
		g.addf(line, "the path is from the root of the repository", "component %s: %s: there is no file %s", c.Name, field, file.Text)
		return found, false
	case entry.Mode == tree.ModeSymlink || entry.Mode == tree.ModeSubmodule:
		g.addf(line, "", "component %s: %s: %s is a link, and is not read", c.Name, field, file.Text)
		return found, false
	case !entry.IsDir() && entry.Data == nil && entry.ID != tree.HashBlob(nil):
		g.addf(line, "", "component %s: %s: %s is too large to be read", c.Name, field, file.Text)
		return found, false
	case entry.IsDir() && field == "variablesFile":
		g.addf(line, "", "component %s: %s: %s is a folder", c.Name, field, file.Text)
		return found, false
	}
	found.entry = entry
	return found, true
}

// cutFolder returns a path without a folder that it is in.
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
			if found, ok := g.findFile("overlayFiles", o.Source, p, o.Ref); ok {
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

// addOverlay adds a file by its last name, or all of a folder.
func (g *generator) addOverlay(written model.Text, found foundFile, owners map[string]string) {
	if !found.entry.IsDir() {
		g.setOverlay(written, path.Base(written.Text), found.entry.Data, written.Text, owners)
		return
	}
	for file, e := range found.entry.Tree().Walk() {
		switch {
		case e.Mode == tree.ModeSymlink || e.Mode == tree.ModeSubmodule:
			g.addf(written.Line, "", "component %s: overlayFiles: %s is a link, and is not read", g.component.Name, path.Join(written.Text, file))
		case e.Data == nil && e.ID != tree.HashBlob(nil):
			g.addf(written.Line, "", "component %s: overlayFiles: %s is too large to be read", g.component.Name, path.Join(written.Text, file))
		default:
			g.setOverlay(written, file, e.Data, path.Join(written.Text, file), owners)
		}
	}
}

func (g *generator) setOverlay(written model.Text, name string, data []byte, from string, owners map[string]string) {
	if other, taken := owners[name]; taken {
		g.addf(written.Line, "give one of them another name", "component %s: the overlays %s and %s are both %s", g.component.Name, other, from, name)
		return
	}
	owners[name] = from
	g.files[name] = data
	if stack.HasSecret(string(data)) && !strings.HasPrefix(from, "overlayData ") { // those were reported
		g.addf(written.Line, "read it from a secret, and change it: it is in the history of the repository", "component %s: overlayFiles: %s holds a secret in clear", g.component.Name, from)
	}
}
