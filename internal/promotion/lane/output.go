package lane

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Composition is a base that is composed of the files of several commits.
type Composition struct {
	Platform string            // the commit of all files but those of Lanes
	Lanes    map[string]string // the commits of lanes, by name
}

// Equal reports whether two compositions have the same commits.
func (c Composition) Equal(other Composition) bool {
	return c.Platform == other.Platform && maps.Equal(c.Lanes, other.Lanes)
}

// String names the commits.
func (c Composition) String() string {
	all := []string{c.Platform}
	for _, lane := range slices.Sorted(maps.Keys(c.Lanes)) {
		all = append(all, lane+"@"+c.Lanes[lane])
	}
	return strings.Join(all, " ")
}

// Output is what an environment was rendered to.
type Output struct {
	Tree   tree.Tree
	Owners Owners
	// Problem is why the environment cannot be rendered; "" if it can.
	Problem string
}

// Owners says which lanes the objects of an output belong to.
type Owners struct {
	clusterTypes map[string]bool
	targets      map[string]string // lanes by deployment target
	stacks       map[string]string // lanes by the folders of stacks, three levels deep
}

// NewOwners returns the owners of what is rendered from a model. A deployment target belongs to the lane of the file that it is
// written in; one of a team's repository, to the lane of the registration; a stack, which has these folders, to the lane of its blueprint.
func (p Partition) NewOwners(m *model.Model, folders func(*model.Stack) []string) Owners {
	o := Owners{clusterTypes: map[string]bool{}, targets: map[string]string{}, stacks: map[string]string{}}
	for _, c := range m.ClusterTypes {
		o.clusterTypes[c.Name] = true
	}
	registrations := map[string]string{}
	for _, r := range m.Registrations {
		registrations[r.Name] = p.findOwner(r.Object)
	}
	for _, t := range m.Targets {
		lane, isRegistered := registrations[t.Pos.Layer]
		if !t.Team || !isRegistered {
			lane = p.findOwner(t.Object)
		}
		o.targets[t.Name] = lane
	}
	for _, s := range m.Stacks.List {
		for _, folder := range folders(s) {
			o.stacks[folder] = Platform
			if s.Blueprint != nil {
				o.stacks[folder] = p.FindLane(s.Blueprint.Pos.File)
			}
		}
	}
	return o
}

func (p Partition) findOwner(o model.Object) string {
	if o.Pos.Layer != "base" {
		return Platform
	}
	return p.FindLane(o.Pos.File)
}

// trackingFolder holds the commit that was promoted, whatever that changes.
const trackingFolder = ".github"

// changedOwners returns the lanes whose objects differ between two outputs, each with a folder that differs. The file that
// describes a cluster type comes and goes with the first and the last assignment, and belongs to nobody.
func changedOwners(before, after Output) map[string]string {
	changed := map[string]string{}
	note := func(lane, folder string) {
		if changed[lane] == "" {
			changed[lane] = folder
		}
	}
	for old, fresh := range tree.ZipChanged(before.Tree, after.Tree) {
		clusterType := max(old.Name, fresh.Name)
		switch {
		case clusterType == trackingFolder:
			continue
		case before.Owners.holdsStacks(clusterType) || after.Owners.holdsStacks(clusterType):
			for folder := range changedStacks(old.Tree(), fresh.Tree()) {
				note(before.Owners.Find(clusterType+"/"+folder+"/"), clusterType+"/"+folder)
				note(after.Owners.Find(clusterType+"/"+folder+"/"), clusterType+"/"+folder)
			}
			continue
		case !before.Owners.clusterTypes[clusterType] && !after.Owners.clusterTypes[clusterType]:
			note(Platform, clusterType)
			continue
		}
		for o, f := range tree.ZipChanged(old.Tree(), fresh.Tree()) {
			isWhole := o.Name == "" || f.Name == ""
			name := max(o.Name, f.Name)
			if isWhole && name == readmeName {
				continue
			}
			if o.Name != "" {
				note(before.Owners.find(name), clusterType+"/"+name)
			}
			if f.Name != "" {
				note(after.Owners.find(name), clusterType+"/"+name)
			}
		}
	}
	return changed
}

// changedStacks yields the folders of stacks, and what is next to them, that differ below a folder of all stacks.
func changedStacks(before, after tree.Tree) iter.Seq[string] {
	return func(yield func(string) bool) {
		for old, fresh := range tree.ZipChanged(before, after) {
			team := max(old.Name, fresh.Name)
			if old.Tree().IsEmpty() && fresh.Tree().IsEmpty() && !yield(team) { // a file
				return
			}
			for o, f := range tree.ZipChanged(old.Tree(), fresh.Tree()) {
				if !yield(team + "/" + max(o.Name, f.Name)) {
					return
				}
			}
		}
	}
}

const readmeName = "README.md"

// Find returns the lane of a file of the output.
func (o Owners) Find(file string) string {
	if lane, known := o.stacks[o.StackFolder(file)]; known {
		return lane
	}
	clusterType, rest, _ := strings.Cut(file, "/")
	target, _, isInside := strings.Cut(rest, "/")
	if !isInside || !o.clusterTypes[clusterType] {
		return Platform
	}
	return o.find(target)
}

func (o Owners) find(target string) string {
	if lane, known := o.targets[target]; known {
		return lane
	}
	return Platform
}

// StackFolder returns the folder of a stack that a file is in; "" if it is in none.
func (o Owners) StackFolder(file string) string {
	parts := strings.SplitN(file, "/", 4)
	if len(parts) < 4 {
		return ""
	}
	folder := strings.Join(parts[:3], "/")
	if _, known := o.stacks[folder]; !known {
		return ""
	}
	return folder
}

func (o Owners) holdsStacks(top string) bool {
	for folder := range o.stacks {
		if strings.HasPrefix(folder, top+"/") {
			return true
		}
	}
	return false
}
