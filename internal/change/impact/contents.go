package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
)

// look is a look at the sources of a unit.
type look struct{ unread []inside.Unread }

// visitContents adds the differences inside of an assignment's sources to those of its files; nil
// if nobody looked.
func (s *survey) visitContents(at location) *look {
	contents, ok := s.opt.Contents[inside.Place{ClusterType: at.clusterType, Target: at.target}]
	if !ok {
		return nil
	}
	s.report.objectsBefore += contents.Old.Count()
	for c := range tree.Diff(contents.Old, contents.New) {
		s.changes = append(s.changes, c)
		switch {
		case c.Added():
			s.report.Objects.Added++
		case c.Removed():
			s.report.Objects.Removed++
			s.noteStateful(at, c.Path)
		default:
			s.report.Objects.Changed++
		}
	}
	return &look{contents.Unread}
}

// statefulKinds are deleted with data that no new object brings back.
var statefulKinds = []string{"StatefulSet.apps", "PersistentVolumeClaim", "PersistentVolume", "CustomResourceDefinition.apiextensions.k8s.io"}

func (s *survey) noteStateful(at location, path string) {
	keys := strings.Split(strings.TrimPrefix(path, inside.Folder+"/"), "/") // "HelmRelease/shop/StatefulSet.apps/db.yaml"
	if len(keys) > 3 && slices.Contains(statefulKinds, keys[2]) {
		kind, _, _ := strings.Cut(keys[2], ".")
		name := strings.TrimSuffix(strings.Join(keys[3:], "/"), ".yaml")
		s.report.stateful = append(s.report.stateful, fmt.Sprintf("%s/%s of %s", kind, name, at.target))
	}
}

func isInside(path string) bool { return strings.HasPrefix(path, inside.Folder+"/") }

func (g Group) uncomparedSentences() []string {
	if g.Uncompared && len(g.Unread) == 0 {
		return []string{uncomparedText}
	}
	return list.Convert(g.Unread, inside.Unread.Sentence)
}

func (r *Removals) countObjects(report Report) {
	r.Objects = Share{report.Objects.Removed, report.objectsBefore}
	r.otherObjects = report.Objects.Removed - len(report.stateful)
	r.Stateful = slices.Compact(slices.Sorted(slices.Values(report.stateful)))
}

func (r Removals) describeObjects() (parts []string) {
	if len(r.Stateful) > 0 {
		parts = append(parts, listNames("object with data", r.Stateful))
	}
	if r.otherObjects > 0 {
		parts = append(parts, text.Count(r.otherObjects, "object")+" inside of sources")
	}
	return parts
}
