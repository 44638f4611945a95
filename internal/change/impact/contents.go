package impact

import (
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
	var others []tree.Change
	for c := range tree.Diff(contents.Old, contents.New) {
		kind, name := splitObject(c.Path)
		short, _, _ := strings.Cut(kind, ".")
		isStateful := c.Removed() && slices.Contains(statefulKinds, kind)
		if isStateful {
			s.changes = append(s.changes, c)
			s.report.stateful = append(s.report.stateful, name+" of "+at.target)
		} else {
			others = append(others, c)
		}
		switch {
		case c.Added():
			s.report.Objects.Added++
		case c.Removed() && !strings.HasSuffix(short, inside.HookSuffix):
			s.report.Objects.Removed++
		default:
			s.report.Objects.Changed++
		}
	}
	s.changes = append(s.changes, others...)
	for path := range contents.Unsure.All() {
		if kind, name := splitObject(path); slices.Contains(statefulKinds, kind) {
			s.report.unsure = append(s.report.unsure, name+" of "+at.target)
		}
	}
	return &look{contents.Unread}
}

// statefulKinds are deleted with data that no new object brings back.
var statefulKinds = []string{"StatefulSet.apps", "PersistentVolumeClaim", "PersistentVolume", "CustomResourceDefinition.apiextensions.k8s.io"}

// splitObject splits "(inside)/HelmRelease/shop/StatefulSet.apps/db.yaml".
func splitObject(path string) (kind, name string) {
	keys := strings.SplitN(path, "/", 5)
	if len(keys) < 5 {
		return "", ""
	}
	short, _, _ := strings.Cut(keys[3], ".")
	return keys[3], short + "/" + strings.TrimSuffix(keys[4], ".yaml")
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
	r.Unsure = slices.Compact(slices.Sorted(slices.Values(report.unsure)))
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
