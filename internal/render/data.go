package render

import (
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
