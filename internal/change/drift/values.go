package drift

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

func byKey(list []values.Provenance) map[string]values.Provenance {
	all := make(map[string]values.Provenance, len(list))
	for _, p := range list {
		all[p.Key] = p
	}
	return all
}

type leaf struct {
	name string // with dots
	path []any
}

func (l leaf) valueIn(v any) any {
	for _, key := range l.path {
		m, ok := v.(map[any]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// compareLeaves compares the values of one key with their configs, and mappings by
// parts.
func (c *comparison) compareLeaves(a, b values.Provenance, at leaf) []Finding {
	was, is := at.valueIn(a.Value), at.valueIn(b.Value)
	if reflect.DeepEqual(was, is) {
		return nil
	}
	before, one := was.(map[any]any)
	after, two := is.(map[any]any)
	if one && two {
		var changes []Finding
		for _, key := range keysIn(before, after) {
			changes = append(changes, c.compareLeaves(a, b, leaf{at.name + "." + fmt.Sprint(key), append(slices.Clone(at.path), key)})...)
		}
		return changes
	}
	old, now := valueText(was), valueText(is)
	if old == now { // the number 1 is not the text 1
		old, now = fmt.Sprintf("%s (%T)", old, was), fmt.Sprintf("%s (%T)", now, is)
	}
	because := c.from.name() + ": " + setBy(a, at) + "; " + c.to.name() + ": " + setBy(b, at)
	if setBy(a, at) == setBy(b, at) { // the file differs between base commits
		because = "both: " + setBy(a, at)
	}
	return []Finding{{
		Change:  at.name + ": " + orNone(old) + " → " + orNone(now),
		Because: because,
		Files:   slices.Concat(filesOf(a, at), filesOf(b, at)),
		own:     !slices.Equal(filesOf(a, at), filesOf(b, at)),
	}}
}

func filesOf(p values.Provenance, at leaf) []string {
	return list.Convert(findSources(p, at), func(s values.Source) string { return fileOf(s.Pos) })
}

func fileOf(p problem.Pos) string { return p.Layer + "/" + p.File }

func keysIn(a, b map[any]any) []any {
	var all []any
	for key := range a {
		all = append(all, key)
	}
	for key := range b {
		if _, both := a[key]; !both {
			all = append(all, key)
		}
	}
	slices.SortFunc(all, func(x, y any) int { return strings.Compare(fmt.Sprintf("%v %T", x, x), fmt.Sprintf("%v %T", y, y)) })
	return all
}

func valueText(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		return "[" + strings.Join(list.Convert(v, valueText), ", ") + "]"
	case map[any]any:
		for key, one := range v {
			parts = append(parts, valueText(key)+": "+valueText(one))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case string:
		if strings.TrimSpace(v) == "" {
			return strconv.Quote(v)
		}
	}
	return fmt.Sprint(v)
}

// setBy names the last config that sets a value, or all merged ones.
func setBy(p values.Provenance, at leaf) string {
	by := findSources(p, at)
	if len(by) == 0 {
		return "no config sets it"
	}
	return strings.Join(list.Convert(by, func(s values.Source) string { return s.Config.Name + " (" + s.Pos.String() + ")" }), " + ")
}

func findSources(p values.Provenance, at leaf) []values.Source {
	by := slices.DeleteFunc(slices.Clone(p.By), func(s values.Source) bool { return at.valueIn(s.Value) == nil })
	switch at.valueIn(p.Value).(type) {
	case []any, map[any]any:
		return by
	}
	return by[max(0, len(by)-1):]
}
