package drift

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// pairByName compares two lists that are sorted by name. It calls only for each object that one
// of them has, and both for each that both have.
func pairByName[T any](from, to []*T, object func(*T) *model.Object, only func(o *T, isTo bool), both func(a, b *T)) {
	for len(from) > 0 || len(to) > 0 {
		order := 0
		switch {
		case len(from) == 0:
			order = 1
		case len(to) == 0:
			order = -1
		default:
			order = cmp.Compare(object(from[0]).Name, object(to[0]).Name)
		}
		switch {
		case order < 0:
			only(from[0], false)
			from = from[1:]
		case order > 0:
			only(to[0], true)
			to = to[1:]
		default:
			both(from[0], to[0])
			from, to = from[1:], to[1:]
		}
	}
}

// sidesOf returns the side that has something, and then the other one.
func (c *comparison) sidesOf(isTo bool) (has, lacks Side) {
	if isTo {
		return c.to, c.from
	}
	return c.from, c.to
}

// compareObjects finds the objects of one kind that only one side has, and the changes of those
// that both have.
func compareObjects[T any](c *comparison, f *findings, of func(*model.Model) []*T, object func(*T) *model.Object, changes func(a, b *T) []Finding) {
	pairByName(of(c.from.Model), of(c.to.Model), object, func(o *T, isTo bool) {
		has, lacks := c.sidesOf(isTo)
		f.add(Finding{Only: has.name(), Because: c.describeOrigin(object(o), has, lacks)}, object(o).Name)
	}, func(a, b *T) {
		for _, change := range changes(a, b) {
			f.add(change, object(a).Name)
		}
	})
}

// describeOrigin returns the reason why only one side has an object: where it is written.
func (c *comparison) describeOrigin(o *model.Object, has, lacks Side) string {
	switch o.Pos.Layer {
	case "base":
		return "the base of " + lacks.name() + " does not have it: " + folderOf(o)
	case has.name():
		return "it is written in the branch of " + has.name() + ": " + folderOf(o)
	}
	return "it comes with the registration " + o.Pos.Layer + ": " + folderOf(o)
}

// folderOf returns the folder that an object is written in. Objects of one folder are one
// finding.
func folderOf(o *model.Object) string {
	i := strings.LastIndexByte(o.Pos.File, '/')
	return o.Pos.Layer + "/" + o.Pos.File[:i+1]
}

// fieldChanges collects the changes of an object.
type fieldChanges []Finding

// addText adds the change of a field, if it differs.
func (f *fieldChanges) addText(name, a, b string) {
	if a != b {
		*f = append(*f, Finding{Change: name + ": " + orNone(a) + " → " + orNone(b)})
	}
}

// addTexts adds the changes of the keys of a mapping.
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

// orNone returns a text in one line, shortened; "(none)" for an empty one.
func orNone(text string) string {
	const most = 60
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return cmp.Or(text, "(none)")
}

func (c *comparison) compareClusterTypes(f *findings) {
	compareObjects(c, f, func(m *model.Model) []*model.ClusterType { return m.ClusterTypes }, func(t *model.ClusterType) *model.Object { return &t.Object },
		func(a, b *model.ClusterType) []Finding {
			var changes fieldChanges
			changes.addText("reconciler", a.Reconciler, b.Reconciler)
			changes.addText("namespace service", a.NamespaceService, b.NamespaceService)
			changes.addText("config type", a.ConfigType, b.ConfigType)
			changes.addTexts("label", a.Labels, b.Labels)
			return changes
		})
}

// compareTargets compares deployment targets. A workload has its own for each environment, so that
// the other side may lack one because none was wanted there.
func (c *comparison) compareTargets(f *findings) {
	pairByName(c.from.Model.Targets, c.to.Model.Targets, targetObject, func(t *model.Target, isTo bool) {
		has, lacks := c.sidesOf(isTo)
		f.add(Finding{Only: has.name(), Because: whyNoTarget(t, has, lacks)}, t.Name)
	}, func(a, b *model.Target) {
		var changes fieldChanges
		changes.addText("workspace", a.Workspace, b.Workspace)
		changes.addTexts("label", a.Labels, b.Labels)
		changes.addTexts("manifests", a.Manifests, b.Manifests)
		changes.addText("depends on", dependencyNames(a), dependencyNames(b))
		for _, change := range changes {
			f.add(change, a.Name)
		}
	})
}

func targetObject(t *model.Target) *model.Object { return &t.Object }

func dependencyNames(t *model.Target) string {
	var names []string
	for _, d := range t.DependsOn {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
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
	compareObjects(c, f, func(m *model.Model) []*model.Policy { return m.Policies }, func(p *model.Policy) *model.Object { return &p.Object },
		func(a, b *model.Policy) []Finding {
			var changes fieldChanges
			changes.addText("cluster types", a.ClusterTypes.String(), b.ClusterTypes.String())
			changes.addText("deployment targets", a.Targets.String(), b.Targets.String())
			changes.addText("workspace", a.Workspace, b.Workspace)
			return changes
		})
}

// compareTemplates compares templates, without those that are built in on both sides.
func (c *comparison) compareTemplates(f *findings) {
	own := func(m *model.Model) []*model.Template {
		return slices.DeleteFunc(slices.Clone(m.Templates), func(t *model.Template) bool {
			other := c.from.Model
			if m == other {
				other = c.to.Model
			}
			twin := other.Template(t.Name)
			return t.BuiltIn && (twin == nil || twin.BuiltIn)
		})
	}
	compareObjects(c, f, own, func(t *model.Template) *model.Object { return &t.Object }, func(a, b *model.Template) []Finding {
		if sameTemplate(a, b) {
			return nil
		}
		because := c.from.name() + " has that of " + templateLocation(a) + ", " + c.to.name() + " that of " + templateLocation(b)
		if a.Pos.Layer == "base" && b.Pos.Layer == "base" {
			because = "the commits of the base differ: " + templateLocation(a)
		}
		return []Finding{{Change: "its text differs", Because: because}}
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
		all := []string{t.Type, t.ContentType, t.Engine}
		for _, m := range t.Manifests {
			all = append(all, m.Text)
		}
		return all
	}
	return a.Expansions == b.Expansions && slices.Equal(texts(a), texts(b))
}

// compareConfigs compares configs and their labels. Their content belongs to the topic of values.
func (c *comparison) compareConfigs(f *findings) {
	compareObjects(c, f, func(m *model.Model) []*model.Config { return m.Configs }, func(o *model.Config) *model.Object { return &o.Object },
		func(a, b *model.Config) []Finding {
			var changes fieldChanges
			changes.addTexts("label", a.Labels, b.Labels)
			return changes
		})
}
