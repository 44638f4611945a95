package render

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

// detachShared replaces what the data share with other assignments by copies, so that a template
// may change them.
func (d *Data) detachShared() {
	if d.original != nil {
		return
	}
	before := *d
	d.original = &before
	d.ConfigData = templatefunc.Clone(d.ConfigData).(map[string]any)
	d.DependsOn = slices.Clone(d.DependsOn)
}

// undoChanges undoes all changes since the data were detached.
func (d *Data) undoChanges() {
	if d.original != nil {
		*d = *d.original
	}
}

// reattachUnchanged restores data that were detached but not changed: most templates that call set
// do so to fill a dictionary of their own.
func (d *Data) reattachUnchanged() {
	if d.original != nil && slices.Equal(d.DependsOn, d.original.DependsOn) && reflect.DeepEqual(d.ConfigData, d.original.ConfigData) {
		d.undoChanges()
	}
}

// HasChanges reports whether a template has changed the data, on which the texts of later
// templates then depend.
func (d *Data) HasChanges() bool { return d.original != nil }

// dataType is the value of "." where a template uses it as a whole, as toYaml . and
// hash . do. It has the name and the fields of Kalypso's type, since both show in the
// output.
type dataType struct {
	DeploymentTargetName string
	Namespace            string
	Environment          string
	Workspace            string
	Workload             string
	Labels               map[string]string
	Manifests            map[string]string
	ClusterType          string
	ConfigData           map[string]any
}

// dotValue returns the value of "." in a piece of a template. A template that names
// .DependsOn was not written for Kalypso, and sees all fields.
func (a *analysis) dotValue(d *Data) any {
	if !a.whole || a.dependsOn {
		return d
	}
	return dataType{
		d.DeploymentTargetName, d.Namespace, d.Environment, d.Workspace, d.Workload, d.Labels, d.Manifests, d.ClusterType, d.ConfigData,
	}
}

// typeOf is sprig's function, with Kalypso's name for the type of ".".
func typeOf(v any) string {
	if _, ok := v.(dataType); ok {
		return "scheduler.dataType"
	}
	return fmt.Sprintf("%T", v)
}
