package render

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

// detachShared copies shared data, so that a template may change them.
func (d *Data) detachShared() {
	if d.original != nil {
		return
	}
	before := *d
	d.original = &before
	d.ConfigData = templatefunc.Clone(d.ConfigData).(map[string]any)
	d.DependsOn = slices.Clone(d.DependsOn)
}

// WithVersions returns the data with what releases and pins have of the workload; nil for nothing.
func (d Data) WithVersions(v *model.TargetVersions) Data {
	if v != nil {
		d.Release, d.Versions, d.Images = v.Release, v.Versions, v.Images
	}
	return d
}

func (d *Data) undoChanges() {
	if d.original != nil {
		*d = *d.original
	}
}

// reattachUnchanged restores unchanged data: most templates call set on their own
// dictionaries.
func (d *Data) reattachUnchanged() {
	if d.original != nil && slices.Equal(d.DependsOn, d.original.DependsOn) && reflect.DeepEqual(d.ConfigData, d.original.ConfigData) {
		d.undoChanges()
	}
}

// HasChanges reports whether a template has changed the data, which affects later
// templates.
func (d *Data) HasChanges() bool { return d.original != nil }

// dataType is "." as a whole, as in toYaml . and hash . Its name and fields are
// Kalypso's, since the output shows both.
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

// dotValue returns the value of ".". A template that names .DependsOn is not for
// Kalypso and sees all fields.
func (a *analysis) dotValue(d *Data) any {
	if !a.whole || a.dependsOn {
		return d
	}
	return dataType{
		d.DeploymentTargetName, d.Namespace, d.Environment, d.Workspace, d.Workload, d.Labels, d.Manifests, d.ClusterType, d.ConfigData,
	}
}

// typeOf is sprig's function with Kalypso's name for the type of ".".
func typeOf(v any) string {
	if _, ok := v.(dataType); ok {
		return "scheduler.dataType"
	}
	return fmt.Sprintf("%T", v)
}
