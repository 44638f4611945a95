package source

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
)

// ReleasesPrefix begins the names of the branches of the control plane whose commits are releases.
const ReleasesPrefix = "releases/"

// ReleaseFile is the only file of a release.
const ReleaseFile = "release.yaml"

// CheckPins returns the problems of the releases and pins that an environment has: a broken one must not unpin anything in silence.
func CheckPins(read *model.Progress, folder string) (problems problem.List) {
	for _, p := range read.Pins {
		if want := model.PinFile(folder, p.Name); p.Pos.File != want {
			problems.Addf(p.Pos, p.Subject(), "move it to "+want, "pins are read in %s alone", path.Join(folder, model.PinnedFolder))
		}
	}
	pinned := map[string]*model.Release{}
	for _, r := range read.Releases {
		switch want := model.PinsFile(folder, r.Lane); {
		case r.Pos.File != want:
			problems.Addf(r.Pos, r.Subject(), "move it to "+want, "the versions of lane %s are read in %s alone", r.Lane, want)
		case r.Commit == "":
			problems.Addf(r.Pos, r.Subject(), "git revert the commit that removed it, or fairlead rollback --lane "+r.Lane, "it has no spec.commit, which names the release")
		}
		for _, v := range r.Versions {
			if !v.IsRead() {
				continue
			}
			if other := pinned[v.Registration]; other != nil && other != r {
				problems.Addf(r.Pos, r.Subject(), "remove it from one of them", "%s is pinned in %s too", v.Registration, other.Pos.File)
			}
			pinned[v.Registration] = r
		}
	}
	return problems
}

func (r *reading) addPins(files tree.Tree, folder string) {
	if files.IsEmpty() {
		return
	}
	prefix := path.Join(folder, model.PinsFolder)
	read := r.source.options.Parser.Progress(r.env+" pins", model.Layer{Kind: model.Env, Name: r.env, Files: files, Prefix: prefix})
	r.problems = append(append(r.problems, read.Problems...), CheckPins(read, folder)...)
	r.releases, r.pins = read.Releases, read.Pins
	if setsAnything(read) {
		r.addLayer(model.Layer{Kind: model.Pins, Name: r.env}, files, prefix)
	}
	of := &r.commits[len(r.commits)-1]
	of.Releases = map[string]string{}
	for _, release := range read.Releases {
		of.Releases[release.Lane] = release.Commit
	}
}

func setsAnything(read *model.Progress) bool {
	return slices.ContainsFunc(read.Pins, func(p *model.Pin) bool { return !p.IsRead() }) ||
		slices.ContainsFunc(read.Releases, func(r *model.Release) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(r.Versions)), func(v model.FeedVersion) bool { return !v.IsRead() })
		})
}

// findPin returns the pin of a registration, or else the release that it is in, and the commit; nil for neither.
func (r *reading) findPin(registration string) (*model.Object, string) {
	for _, p := range r.pins {
		if p.Registration == registration && p.IsRead() {
			return &p.Object, p.Commit
		}
	}
	for _, release := range r.releases {
		for _, v := range release.Versions {
			if v.Registration == registration && v.IsRead() {
				return &release.Object, v.Commit
			}
		}
	}
	return nil, ""
}

func (r *reading) addPinned(ctx context.Context, layer model.Layer, ref model.RepoRef, by *model.Object, commit string) error {
	ref.Commit = commit
	err := r.addRepository(ctx, layer, ref, by, false)
	for i := range r.commits {
		r.commits[i].Release = by.Name
	}
	return err
}

// ReleaseAt returns the release of a commit; nil if it has none. One with problems is an error.
func ReleaseAt(repo *git.Repository, commit string) (*model.Release, error) {
	e, written, err := repo.FindEntry(commit, ReleaseFile)
	if err != nil || !written || e.IsDir() {
		return nil, err
	}
	return parseRelease(ReleaseFile, e.Data)
}

func parseRelease(file string, text []byte) (*model.Release, error) {
	files, err := tree.FromFiles(map[string][]byte{path.Base(file): text})
	if err != nil {
		return nil, err
	}
	read := model.NewParser().Progress("release", model.Layer{Kind: model.Env, Name: "releases", Files: files, Prefix: strings.Trim(path.Dir(file), ".")})
	if p, stops := read.Problems.FirstStopping(); stops {
		return nil, fmt.Errorf("%s", p)
	}
	if len(read.Releases) != 1 {
		return nil, nil
	}
	return read.Releases[0], nil
}

// PinsAt returns what the branch has of a lane's releases at another head; nil for nothing that can be read.
func (b Branch) PinsAt(head, lane string) (*model.Release, error) {
	file := model.PinsFile(b.Folder, lane)
	e, written, err := b.Repo.FindEntry(head, file)
	if err != nil || !written || e.IsDir() {
		return nil, err
	}
	release, err := parseRelease(file, e.Data)
	if err != nil {
		return nil, nil
	}
	return release, nil
}

// HasSamePins reports whether the branch has the same pins at another head.
func (b Branch) HasSamePins(head string) (bool, error) {
	folder := path.Join(b.Folder, model.PinnedFolder)
	now, _, err := b.Repo.FindEntry(b.Head, folder)
	if err != nil {
		return false, err
	}
	before, _, err := b.Repo.FindEntry(head, folder)
	return now.ID == before.ID, err
}

// ListPins returns the commits of the releases that the branch had of a lane, newest first.
func (b Branch) ListPins(lane string, commits, versions int) (all []string, err error) {
	file := model.PinsFile(b.Folder, lane)
	texts, err := b.Repo.FileVersions(b.Head, file, commits, versions)
	for _, text := range texts {
		if release, broken := parseRelease(file, text); broken == nil && release != nil {
			all = append(all, release.Commit)
		}
	}
	return all, err
}

// Followed returns what the environment takes without a commit of the control plane: without registrations that are pinned.
func (r Rendered) Followed() []model.Followed {
	return slices.DeleteFunc(r.Model.Followed(), func(f model.Followed) bool {
		return f.IsRegistration && slices.ContainsFunc(r.Commits, func(c Commit) bool { return c.Release != "" && f.Subject == "WorkloadRegistration/"+c.Layer })
	})
}
