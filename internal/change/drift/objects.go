package drift

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type object interface{ ObjectMeta() *model.Object }

// compareObjects compares two lists sorted by name. why explains objects that only one
// side has; compare finds the changes of shared ones.
func compareObjects[T object](c *comparison, f *findings, from, to []T, why func(o T, has, lacks Side) string, compare func(changes *fieldChanges, a, b T)) {
	for len(from) > 0 || len(to) > 0 {
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].ObjectMeta().Name < to[0].ObjectMeta().Name:
			f.add(Finding{Only: c.from.name(), Because: why(from[0], c.from, c.to)}, from[0].ObjectMeta().Name)
			from = from[1:]
		case len(from) == 0 || to[0].ObjectMeta().Name < from[0].ObjectMeta().Name:
			f.add(Finding{Only: c.to.name(), Because: why(to[0], c.to, c.from)}, to[0].ObjectMeta().Name)
			to = to[1:]
		default:
			var changes fieldChanges
			compare(&changes, from[0], to[0])
			a, b := from[0].ObjectMeta().Pos, to[0].ObjectMeta().Pos
			for _, change := range changes {
				change.own = a.Layer != b.Layer || a.File != b.File
				f.add(change, from[0].ObjectMeta().Name)
			}
			from, to = from[1:], to[1:]
		}
	}
}

// whyOnly returns the place where an object is written.
func whyOnly[T object](of T, has, lacks Side) string {
	o := of.ObjectMeta()
	switch o.Pos.Layer {
	case "base":
		return "the base of " + lacks.name() + " does not have it: " + folderOf(o)
	case has.name():
		return "it is written in the branch of " + has.name() + ": " + folderOf(o)
	}
	return "it comes with the registration " + o.Pos.Layer + ": " + folderOf(o)
}

func folderOf(o *model.Object) string {
	i := strings.LastIndexByte(o.Pos.File, '/')
	return o.Pos.Layer + "/" + o.Pos.File[:i+1]
}

type fieldChanges []Finding

func (f *fieldChanges) addText(name, a, b string) {
	if a != b {
		*f = append(*f, Finding{Change: name + ": " + orNone(a) + " → " + orNone(b)})
	}
}

func (f *fieldChanges) addTexts(name string, a, b map[string]string) {
	for _, key := range keysOf(a, b) {
		if !strings.HasPrefix(key, model.OwnerLabelPrefix) {
			f.addText(name+" "+key, a[key], b[key])
		}
	}
}

func keysOf[V any](a, b map[string]V) []string {
	all := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(all)
	return slices.Compact(all)
}

func orNone(value string) string { return cmp.Or(text.Limit(text.OneLine(value), 60), "(none)") }

func (c *comparison) compareClusterTypes(f *findings) {
	compareObjects(c, f, c.from.Model.ClusterTypes, c.to.Model.ClusterTypes, whyOnly, func(changes *fieldChanges, a, b *model.ClusterType) {
		changes.addText("reconciler", a.Reconciler, b.Reconciler)
		changes.addText("namespace service", a.NamespaceService, b.NamespaceService)
		changes.addText("config type", a.ConfigType, b.ConfigType)
		changes.addTexts("label", a.Labels, b.Labels)
	})
}

// compareTargets considers that a workload has its own targets per environment: a
// missing one may be intended.
func (c *comparison) compareTargets(f *findings) {
	compareObjects(c, f, c.from.Model.Targets, c.to.Model.Targets, whyNoTarget, func(changes *fieldChanges, a, b *model.Target) {
		changes.addText("workspace", a.Workspace, b.Workspace)
		changes.addTexts("label", a.Labels, b.Labels)
		changes.addTexts("manifests", a.Manifests, b.Manifests)
		changes.addText("depends on", dependencyNames(a), dependencyNames(b))
	})
}

func dependencyNames(t *model.Target) string {
	return strings.Join(list.Convert(t.DependsOn, func(d model.Dependency) string { return d.Name }), ", ")
}

func whyNoTarget(t *model.Target, has, lacks Side) string {
	layer := t.Pos.Layer
	registered := slices.ContainsFunc(lacks.Model.Registrations, func(r *model.Registration) bool { return r.Name == layer })
	switch {
	case layer != "base" && layer != has.name() && !registered:
		return "the registration " + layer + " is in " + has.name() + " only"
	case t.Workload == "":
		return "its environment is " + has.name()
	case !slices.ContainsFunc(lacks.Model.Targets, func(o *model.Target) bool { return o.Workload == t.Workload }):
		return "workload " + t.Workload + " has no deployment target for " + lacks.name()
	}
	return "workload " + t.Workload + " has it for " + has.name() + ", and others for " + lacks.name()
}

func (c *comparison) comparePolicies(f *findings) {
	compareObjects(c, f, c.from.Model.Policies, c.to.Model.Policies, whyOnly, func(changes *fieldChanges, a, b *model.Policy) {
		changes.addText("cluster types", a.ClusterTypes.String(), b.ClusterTypes.String())
		changes.addText("deployment targets", a.Targets.String(), b.Targets.String())
		changes.addText("workspace", a.Workspace, b.Workspace)
	})
}

func (c *comparison) compareTemplates(f *findings) {
	written := func(m, other *model.Model) []*model.Template {
		return slices.DeleteFunc(slices.Clone(m.Templates), func(t *model.Template) bool {
			counterpart := other.Template(t.Name)
			return t.BuiltIn && (counterpart == nil || counterpart.BuiltIn)
		})
	}
	from, to := c.from.Model, c.to.Model
	compareObjects(c, f, written(from, to), written(to, from), whyOnly, func(changes *fieldChanges, a, b *model.Template) {
		if sameTemplate(a, b) {
			return
		}
		because := c.from.name() + " has that of " + templateLocation(a) + ", " + c.to.name() + " that of " + templateLocation(b)
		if a.Pos.Layer == "base" && b.Pos.Layer == "base" {
			because = "the commits of the base differ: " + templateLocation(a)
		}
		*changes = append(*changes, Finding{Change: "its text differs", Because: because, Files: []string{fileOf(a.Pos), fileOf(b.Pos)}})
	})
}

func templateLocation(t *model.Template) string {
	if t.BuiltIn {
		return "Fairlead"
	}
	return t.Pos.String()
}

func sameTemplate(a, b *model.Template) bool {
	texts := func(t *model.Template) []string {
		return append(list.Convert(t.Manifests, func(m model.Manifest) string { return m.Text }), t.Type, t.ContentType, t.Engine)
	}
	return a.Expansions == b.Expansions && slices.Equal(texts(a), texts(b))
}

// compareConfigs compares labels only; the content belongs to the topic of values.
func (c *comparison) compareConfigs(f *findings) {
	compareObjects(c, f, c.from.Model.Configs, c.to.Model.Configs, whyOnly, func(changes *fieldChanges, a, b *model.Config) {
		changes.addTexts("label", a.Labels, b.Labels)
	})
}
