package gitlabfake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

func itemObject(p *project, i *item) object {
	kind, sign := "issues", "#"
	if i.merge != nil {
		kind, sign = "merge_requests", "!"
	}
	short := fmt.Sprintf("%s%d", sign, i.iid)
	o := object{
		"id": i.id, "iid": i.iid, "project_id": p.id, "title": i.title, "description": i.description, "state": i.state,
		"labels": slices.Concat([]string{}, i.labels), "created_at": "2026-01-01T00:00:00.000Z",
		"web_url":    fmt.Sprintf("https://gitlab.example/%s/-/%s/%d", p.path, kind, i.iid),
		"references": object{"short": short, "relative": short, "full": p.path + short},
	}
	if i.merge != nil {
		showMerge(o, p, i)
	}
	return o
}

func showMerge(o object, p *project, i *item) {
	m := i.merge
	o["source_branch"], o["target_branch"] = m.source, m.target
	o["source_project_id"], o["target_project_id"] = m.from.id, p.id
	o["sha"], o["draft"], o["merge_commit_sha"], o["merged_at"] = m.commit, false, nil, nil
	if i.state == "merged" {
		o["merge_commit_sha"], o["merged_at"] = m.merged, "2026-01-01T00:00:00.000Z"
		o["merge_user"] = person
	}
	if i.state == "closed" {
		o["closed_by"], o["closed_at"] = person, "2026-01-01T00:00:00.000Z"
	}
	o["merge_when_pipeline_succeeds"] = m.auto
	o["merge_status"], o["detailed_merge_status"] = p.mergeStatus(i)
}

// hasConflict reports whether two commits cannot be merged.
func (s *Server) hasConflict(p *project, ours, theirs string) bool {
	base := gittest.Git(s.t, p.dir, "merge-base", ours, theirs)
	return strings.Contains(gittest.Git(s.t, p.dir, "merge-tree", base, ours, theirs), "\n+<<<<<<<")
}
