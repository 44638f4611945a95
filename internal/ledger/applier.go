package ledger

import (
	"slices"
	"strings"
)

// Applier is an object that applies a folder of an environment's output.
type Applier struct {
	Object string
	// Folder is below that of the environment; "" if it is unknown or all of the output.
	Folder string
}

// Appliers returns what applies the output to a cluster, the platform object first. Where the folder of one is
// unknown, as by events, so are all: their names do not tell which applies what.
func (c *Cluster) Appliers() []Applier {
	all := c.listApplied()
	if slices.ContainsFunc(c.Others, func(a Applier) bool { return a.Folder == "" }) {
		for i := range all {
			all[i].Folder = ""
		}
	}
	return all
}

// FolderOf returns the folder of the output that decides whether an object has it: that which it applies, or that of the
// cluster type; "" for all of it.
func (c *Cluster) FolderOf(object string) string {
	for _, a := range c.Appliers() {
		if a.Object == object {
			return a.Folder
		}
	}
	return c.Group.ClusterType
}

// Applies reports whether an object applies a folder of the output to the cluster.
func (c *Cluster) Applies(object string) bool {
	return object == c.Platform || slices.ContainsFunc(c.Others, func(a Applier) bool { return a.Object == object })
}

// isReplaced reports whether a contact with changes shows that other objects apply the output, or other folders. It names
// only objects that have changed, so that everything has to be known to place the cluster.
func (c *Cluster) isReplaced(by Contact, reports []Report) bool {
	if by.Scope != Changes {
		return false
	}
	found := Cluster{Group: by.Group, Platform: by.Platform, Others: by.Others}
	for _, a := range found.listApplied() {
		isTenants := Object{Name: c.Platform}.IsPlatform() && !Object{Name: a.Object}.IsPlatform()
		if a.Object != "" && !isTenants && (by.Group.Environment != c.Group.Environment || !slices.Contains(c.listApplied(), a)) {
			return true
		}
	}
	return slices.ContainsFunc(by.Gone, c.Applies) ||
		slices.ContainsFunc(reports, func(r Report) bool { return c.Applies(r.Object.Name) && !found.Applies(r.Object.Name) })
}

// listApplied returns what applies the output to a cluster, with the folders as they were reported.
func (c *Cluster) listApplied() []Applier {
	return append([]Applier{{c.Platform, c.Group.ClusterType}}, c.Others...)
}

// EncodeAppliers returns appliers as a text, and DecodeAppliers is its inverse. Names of objects have no spaces.
func EncodeAppliers(all []Applier) string {
	var b strings.Builder
	for _, a := range all {
		b.WriteString(a.Object + " " + a.Folder + "\n")
	}
	return b.String()
}

// DecodeAppliers returns the appliers in a text of EncodeAppliers.
func DecodeAppliers(text string) (all []Applier) {
	for line := range strings.Lines(text) {
		object, folder, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all = append(all, Applier{object, folder})
	}
	return all
}
