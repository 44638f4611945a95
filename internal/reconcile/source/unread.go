package source

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// checkUnread reports what people may have written as a hold or a freeze and what would
// be read as neither. folder is that of the layer in its repository, whole all that is in
// it, and read what was understood.
func checkUnread(layer, folder string, whole tree.Tree, read *model.Progress) problem.List {
	u := unreadCheck{layer: layer, folder: folder, read: read}
	for _, e := range whole.Entries() {
		switch {
		case strings.EqualFold(e.Name, OwnFolder) && (e.Name != OwnFolder || !e.IsDir()):
			u.addProblem(e.Name, "holds and freezes are read in the folder "+OwnFolder, "%s is not the folder %s, so what is in it is not read", e.Name, OwnFolder)
		case e.Name == OwnFolder:
			u.checkOwnFolder("", e.Tree())
		case e.IsDir() && isNearOwn(e.Name):
			u.checkNearOwn(e.Name, e.Tree())
		case !e.IsDir() && isNearHold(e.Name):
			u.checkFile(e.Name, e)
		}
	}
	return u.problems
}

// strayObjects reports holds and listed clusters in the base that lie in no environment's folder: they
// have no effect.
func (s *Source) strayObjects(read *model.Progress, environments []*model.Environment) problem.List {
	var problems problem.List
	belongs := func(file string) bool {
		return slices.ContainsFunc(environments, func(e *model.Environment) bool {
			folder := path.Clean("/" + e.ControlPlane.Path)[1:]
			return e.ControlPlane.Branch == s.baseBranch() && (folder == "" || strings.HasPrefix(file, folder+"/"))
		})
	}
	for _, h := range slices.Concat(read.Holds, read.LaneHolds) {
		if !belongs(h.Pos.File) {
			problems.Addf(h.Pos, h.Subject(), "write it on the environment's branch, as fairlead hold does; a Freeze in the base covers environments by name",
				"a Hold in the base holds no environment")
		}
	}
	reported := map[string]bool{} // by file
	for _, c := range read.Clusters {
		if !belongs(c.Pos.File) && !reported[c.Pos.File] {
			reported[c.Pos.File] = true
			problems.Addf(c.Pos, c.Subject, "write it on the environment's branch", "a ClusterList in the base is of no environment")
		}
	}
	return problems
}

// strayFreezes reports freezes on an environment's own branch: they freeze nothing. A
// folder of the base's branch is read as a part of the base as well, where they count.
func (s *Source) strayFreezes(b Branch) problem.List {
	var problems problem.List
	if s.isOnBase(b) {
		return nil
	}
	for _, f := range b.Progress.Freezes {
		problems.Addf(f.Pos, f.Subject(), "write it in the base, as fairlead freeze does, or make it a Hold, as fairlead hold does",
			"a Freeze on an environment's branch freezes nothing")
	}
	return problems
}

func (s *Source) isOnBase(b Branch) bool {
	same := s.controlPlane == nil || s.options.BaseDir != "" || b.Repo == s.controlPlane
	return same && b.Name == s.baseBranch()
}

// strayAbove reports holds and freezes of an environment's branch that lie above its
// folder, in one that is no environment's: they have no effect.
func (s *Source) strayAbove(ctx context.Context, e *model.Environment, b Branch, root tree.Tree) (problem.List, error) {
	if b.Folder == "" || s.isOnBase(b) {
		return nil, nil
	}
	all, _, err := s.Environments(ctx)
	if err != nil {
		return nil, err
	}
	var problems problem.List
	for dir := b.Folder; dir != ""; {
		dir = path.Clean("/" + path.Dir(dir))[1:]
		if slices.ContainsFunc(all, func(o *model.Environment) bool {
			return o.ControlPlane.Repo == e.ControlPlane.Repo && o.ControlPlane.Branch == b.Name && path.Clean("/" + o.ControlPlane.Path)[1:] == dir
		}) {
			continue
		}
		var own, near []tree.Entry
		for _, entry := range root.Sub(dir).Entries() {
			switch {
			case isNearOwn(entry.Name):
				own = append(own, entry)
			case !entry.IsDir() && isNearHold(entry.Name):
				near = append(near, entry)
			}
		}
		if len(own)+len(near) == 0 {
			continue
		}
		files, err := promotionFiles(tree.FromEntries(append(near, own...)))
		if err != nil {
			return nil, err
		}
		read := s.options.Parser.Progress(e.Name+" above", model.Layer{Kind: model.Env, Name: e.Name, Files: files, Prefix: dir})
		problems = append(append(problems, read.Problems...), checkUnread(e.Name, dir, tree.FromEntries(own), read)...)
		hint := "write it in " + path.Join(b.Folder, OwnFolder) + ", which is the environment's"
		for _, h := range slices.Concat(read.Holds, read.LaneHolds) {
			problems.Addf(h.Pos, h.Subject(), hint, "a Hold above the environment's folder holds nothing")
		}
		for _, f := range read.Freezes {
			problems.Addf(f.Pos, f.Subject(), "write it in the base, as fairlead freeze does", "a Freeze above the environment's folder freezes nothing")
		}
	}
	return problems, nil
}

// unreadCheck collects files that are not read.
type unreadCheck struct {
	layer, folder string
	read          *model.Progress
	problems      problem.List
}

func (u *unreadCheck) addProblem(file, hint, format string, args ...any) {
	u.problems.Addf(problem.Pos{Layer: u.layer, File: path.Join(u.folder, file)}, "", hint, format, args...)
}

func (u *unreadCheck) checkOwnFolder(dir string, t tree.Tree) {
	for _, e := range t.Entries() {
		name := path.Join(dir, e.Name)
		switch {
		case e.IsDir():
			if isNearHold(e.Name) && looksLikeYAML(e.Name) {
				u.addProblem(path.Join(OwnFolder, name), "make it a file that holds a Hold or a Freeze, or remove it", "it is a folder, though its name is that of a file with a Hold or a Freeze")
			}
			u.checkOwnFolder(name, e.Tree())
		case kustomize.IsKustomizationFile(e.Name):
			u.addProblem(path.Join(OwnFolder, name), "remove it: every YAML file in "+OwnFolder+" is read", "a kustomization decides here which holds and freezes are read")
		case isNearHold(e.Name) || isNearHold(path.Base(dir)) || looksLikeYAML(e.Name) || e.Mode == tree.ModeSymlink:
			u.checkFile(path.Join(OwnFolder, name), e)
		}
	}
}

// checkNearOwn checks a folder that is named nearly as ours. Files of any other name in it are
// not Fairlead's.
func (u *unreadCheck) checkNearOwn(dir string, t tree.Tree) {
	for _, e := range t.Entries() {
		file := path.Join(dir, e.Name)
		switch {
		case e.IsDir():
			u.checkNearOwn(file, e.Tree())
		case (isNearHold(e.Name) || isNearHold(path.Base(dir))) && !u.isUnderstood(file):
			folder, _, _ := strings.Cut(file, "/")
			u.addProblem(file, "holds and freezes are read in the folder "+OwnFolder, "%s is not the folder %s, so this file is not read", folder, OwnFolder)
		}
	}
}

func (u *unreadCheck) checkFile(file string, e tree.Entry) {
	const hint = "make it a file that ends in .yaml and holds a Hold or a Freeze, or remove it"
	switch {
	case strings.HasPrefix(e.Name, ".") && !isNearHold(e.Name) || strings.EqualFold(path.Ext(e.Name), ".md") && !isNearHold(e.Name):
	case e.Mode == tree.ModeSymlink || e.Mode == tree.ModeSubmodule:
		u.addProblem(file, hint, "it is not a file, but a link, and links are not followed")
	case !isYAML(e.Name):
		u.addProblem(file, hint, "it is not read: its name does not end in .yaml or .yml")
	case (path.Dir(file) == OwnFolder && isNearHold(e.Name) || isNearHold(path.Base(path.Dir(file)))) && !u.isUnderstood(file):
		u.addProblem(file, hint, "there is no Hold and no Freeze in it")
	}
}

func (u *unreadCheck) isUnderstood(file string) bool {
	file = path.Join(u.folder, file)
	for _, h := range slices.Concat(u.read.Holds, u.read.LaneHolds) {
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

// isNearHold reports whether a file is named like one that holds or freezes something:
// hold.YAML, hold.json, .hold, holds.yaml.bak.
func isNearHold(name string) bool {
	stem, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(name), "."), ".")
	switch strings.TrimSuffix(stem, "s") {
	case "hold", "freeze":
		return true
	}
	return false
}

// isNearOwn reports whether a folder is named like ours: .Fairlead, fairlead, .fairleads.
func isNearOwn(name string) bool {
	return strings.TrimSuffix(strings.Trim(strings.ToLower(name), "._-"), "s") == strings.TrimPrefix(OwnFolder, ".")
}

func looksLikeYAML(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// hidesRecord reports whether a folder has the record of the promoted commit, and Flux is
// told not to load it: the environment would get the head of the base.
func hidesRecord(all, loaded tree.Tree) bool {
	record, there := all.Lookup(promote.RecordFile)
	_, read := loaded.Lookup(promote.RecordFile)
	return there && !record.IsDir() && !read
}

func hiddenRecordProblem(env, folder string) problem.List {
	var l problem.List
	file := path.Join(folder, promote.RecordFile)
	l.Addf(problem.Pos{Layer: env, File: file, Line: 1}, "Environment/"+env, "add !/"+file+" to the end of "+ignoreFile+", or take out the pattern that it matches",
		"%s leaves it out, so that nothing says which commit the environment has", ignoreFile)
	return l
}

// reportLinks reports symbolic links: Flux leaves them out, and one that leads out of the
// repository is a mistake, or worse.
func (r *reading) reportLinks(layer model.Layer) {
	for file, e := range layer.Files.Walk() {
		if e.Mode != tree.ModeSymlink {
			continue
		}
		pos := problem.Pos{Layer: layerName(layer), File: path.Join(layer.Prefix, file), Line: 1}
		target := string(e.Data)
		if path.IsAbs(target) || strings.HasPrefix(path.Join(path.Dir(pos.File), target)+"/", "../") {
			r.problems.Addf(pos, "Symlink/"+path.Base(file), "put the file itself there", "the symbolic link leads out of the repository, to %s", target)
			continue
		}
		r.problems.Warnf(pos, "Symlink/"+path.Base(file), "put the file itself there", "symbolic links are not read, as in Flux")
	}
}
