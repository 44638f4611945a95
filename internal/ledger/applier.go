package ledger

import (
	"slices"
	"strings"
)

// Applier applies a folder of an environment's output.
type Applier struct {
	Object string
	// Folder is relative to the environment's folder; "" if unknown or the root.
	Folder string
}

// Appliers returns the objects that apply the output, the platform object first. If one folder is
// unknown, as with events, all are.
func (c *Cluster) Appliers() []Applier {
	all := c.listApplied()
	if slices.ContainsFunc(c.Others, func(a Applier) bool { return a.Folder == "" }) {
		for i := range all {
			all[i].Folder = ""
		}
	}
	return all
}

// FolderOf returns the folder that an object depends on; "" for the whole output.
func (c *Cluster) FolderOf(object string) string {
	for _, a := range c.Appliers() {
		if a.Object == object {
			return a.Folder
		}
	}
	return c.Group.ClusterType
}

// Applies reports whether an object applies the output to the cluster.
func (c *Cluster) Applies(object string) bool {
	return object == c.Platform || slices.ContainsFunc(c.Others, func(a Applier) bool { return a.Object == object })
}

// isReplaced reports whether changes show other appliers, so that placing the cluster needs a full
// report.
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

func (c *Cluster) listApplied() []Applier {
	return append([]Applier{{c.Platform, c.Group.ClusterType}}, c.Others...)
}

// EncodeAppliers returns appliers as text.
func EncodeAppliers(all []Applier) string {
	var b strings.Builder
	for _, a := range all {
		b.WriteString(a.Object + " " + a.Folder + "\n")
	}
	return b.String()
}

// DecodeAppliers is the inverse of EncodeAppliers.
func DecodeAppliers(text string) (all []Applier) {
	for line := range strings.Lines(text) {
		object, folder, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all = append(all, Applier{object, folder})
	}
	return all
}
