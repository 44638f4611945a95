package source

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/kustomize"
	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// holdFile is where fairlead hold writes, in our folder, and freezesFolder where fairlead
// freeze does.
const (
	holdFile      = "hold.yaml"
	freezesFolder = "freezes"
)

// checkUnread reports what people may have written as a hold or a freeze and what would
// be read as neither. folder is that of the layer in its repository, whole all that is in
// it, and read what was understood.
func checkUnread(layer, folder string, whole tree.Tree, read *model.Progress) problem.List {
	u := unread{layer: layer, folder: folder, read: read}
	for _, e := range whole.Entries() {
		switch {
		case strings.EqualFold(e.Name, OwnFolder) && (e.Name != OwnFolder || !e.IsDir()):
			u.addf(e.Name, "holds and freezes are read in the folder "+OwnFolder, "%s is not the folder %s, so what is in it is not read", e.Name, OwnFolder)
		case e.Name == OwnFolder:
			u.own("", e.Tree())
		case !e.IsDir() && isNear(e.Name):
			u.file(e.Name, e)
		}
	}
	return u.problems
}

// strayHolds reports holds in the base that lie in no environment's folder: they hold
// nothing.
func (s *Source) strayHolds(read *model.Progress, environments []*model.Environment) problem.List {
	var problems problem.List
	for _, h := range read.Holds {
		belongs := slices.ContainsFunc(environments, func(e *model.Environment) bool {
			folder := path.Clean("/" + e.ControlPlane.Path)[1:]
			return e.ControlPlane.Branch == cmp.Or(s.options.BaseBranch, "main") && (folder == "" || strings.HasPrefix(h.Pos.File, folder+"/"))
		})
		if !belongs {
			problems.Addf(h.Pos, h.Subject(), "write it on the environment's branch, as fairlead hold does; a Freeze in the base covers environments by name",
				"a Hold in the base holds no environment")
		}
	}
	return problems
}

// unread collects files that are not read.
type unread struct {
	layer, folder string
	read          *model.Progress
	problems      problem.List
}

func (u *unread) addf(file, hint, format string, args ...any) {
	u.problems.Addf(problem.Pos{Layer: u.layer, File: path.Join(u.folder, file)}, "", hint, format, args...)
}

// own checks our folder, or one in it.
func (u *unread) own(dir string, t tree.Tree) {
	for _, e := range t.Entries() {
		name := path.Join(dir, e.Name)
		switch {
		case e.IsDir():
			u.own(name, e.Tree())
		case kustomize.IsKustomizationFile(e.Name):
			u.addf(path.Join(OwnFolder, name), "remove it: every YAML file in "+OwnFolder+" is read", "a kustomization decides here which holds and freezes are read")
		case isNear(e.Name) || path.Base(dir) == freezesFolder || looksRead(e.Name) || e.Mode == tree.ModeSymlink:
			u.file(path.Join(OwnFolder, name), e)
		}
	}
}

// file checks one that is named like a hold or a freeze, or would be read if it could be.
func (u *unread) file(file string, e tree.Entry) {
	const hint = "make it a file that ends in .yaml and holds a Hold or a Freeze, or remove it"
	switch {
	case strings.HasPrefix(e.Name, ".") && !isNear(e.Name) || strings.EqualFold(path.Ext(e.Name), ".md") && !isNear(e.Name):
	case e.Mode == tree.ModeSymlink || e.Mode == tree.ModeSubmodule:
		u.addf(file, hint, "it is not a file, but a link, and links are not followed")
	case !isYAML(e.Name):
		u.addf(file, hint, "it is not read: its name does not end in .yaml or .yml")
	case file == path.Join(OwnFolder, holdFile) && !u.understood(file), path.Base(path.Dir(file)) == freezesFolder && !u.understood(file):
		u.addf(file, hint, "there is no Hold and no Freeze in it")
	}
}

// understood reports whether a file says something about promotion, right or wrong.
func (u *unread) understood(file string) bool {
	file = path.Join(u.folder, file)
	for _, h := range u.read.Holds {
		if h.Pos.File == file {
			return true
		}
	}
	for _, f := range u.read.Freezes {
		if f.Pos.File == file {
			return true
		}
	}
	for _, p := range u.read.Problems {
		if p.Pos.File == file && !p.Warning {
			return true
		}
	}
	return false
}

// isNear reports whether a file is named like one that holds or freezes something:
// hold.YAML, hold.json, .hold, holds.yaml.bak.
func isNear(name string) bool {
	stem, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(name), "."), ".")
	switch strings.TrimSuffix(stem, "s") {
	case "hold", "freeze":
		return true
	}
	return false
}

// looksRead reports whether people would take a file for one that is read.
func looksRead(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}
