package githubfake

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// Settings are those of a repository.
type Settings struct {
	Required    []string // contexts of statuses without which nothing is merged into any branch
	Approvals   int      // without which nothing is merged
	Strict      bool     // what is merged has to have all that its base has
	Ruleset     bool     // a ruleset says so, and no protection of a branch
	Methods     []string // ways to merge: merge, squash, rebase; nil for all
	NoAutoMerge bool
}

var methodNames = map[string]string{"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges"}

func (r *repository) allowsMethod(method string) bool {
	return r.settings.Methods == nil || slices.Contains(r.settings.Methods, method)
}

func (r *repository) nodeID(i *item) string { return "PR_" + r.name + "_" + strconv.Itoa(i.number) }

// mergeState returns what GitHub calls the state of a pull request, and what is
// missing.
func (s *Server) mergeState(r *repository, i *item) (state, missing string) {
	latest := r.saidOf(i.pull.commit)
	base := s.readRefs(r)["refs/heads/"+i.pull.base]
	if !i.open || i.pull.headRepo == r && s.conflict(r, base, i.pull.commit) {
		return "dirty", "Pull Request is not mergeable"
	}
	switch {
	case i.pull.draft:
		return "draft", "Pull Request is still a draft"
	case r.settings.Strict && s.isAhead(r, i.pull.commit, base):
		return "behind", "The head of the branch is not up to date with the base branch"
	case len(i.pull.approvedBy()) < r.settings.Approvals:
		return "blocked", "At least " + strconv.Itoa(r.settings.Approvals) + " approving review is required by reviewers with write access."
	}
	for _, name := range r.settings.Required {
		if latest[name] != "success" {
			return "blocked", `Required status check "` + name + `" is ` + cmp.Or(latest[name], "expected") + "."
		}
	}
	for _, state := range latest {
		if state != "success" {
			return "unstable", ""
		}
	}
	return "clean", ""
}

// conflict reports whether two commits cannot be merged.
func (s *Server) conflict(r *repository, ours, theirs string) bool {
	base := gittest.Git(s.t, r.dir, "merge-base", ours, theirs)
	return strings.Contains(gittest.Git(s.t, r.dir, "merge-tree", base, ours, theirs), "\n+<<<<<<<")
}

// mergePull merges a pull request as a request says.
func (s *Server) mergePull(c call) reply {
	method := cmp.Or(c.textField("merge_method"), "merge")
	_, missing := s.mergeState(c.repo, c.item)
	switch sha := c.textField("sha"); {
	case c.item.pull.merged || !c.item.open:
		return newFailure(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	case sha != "" && sha != c.item.pull.commit:
		return newFailure(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	case !c.repo.allowsMethod(method):
		return newFailure(http.StatusMethodNotAllowed, methodNames[method]+" are not allowed on this repository.")
	case missing != "":
		return newFailure(http.StatusMethodNotAllowed, missing)
	}
	merged := s.createMerge(c.repo, c.item, method != "merge")
	return reply{status: http.StatusOK, value: object{"sha": merged, "merged": true, "message": "Pull Request successfully merged"}}
}

// createMerge merges a pull request with a merge commit, or its changes as one commit, and
// returns the commit that the base is at then.
func (s *Server) createMerge(r *repository, i *item, squash bool) string {
	base := s.readRefs(r)["refs/heads/"+i.pull.base]
	tree := gittest.Git(s.t, r.dir, "merge-tree", "--write-tree", base, i.pull.commit)
	args := []string{"commit-tree", tree, "-m", i.title, "-p", base}
	if !squash {
		args = append(args, "-p", i.pull.commit)
	}
	merged := gittest.Git(s.t, r.dir, args...)
	gittest.Git(s.t, r.dir, "update-ref", "refs/heads/"+i.pull.base, merged, base)
	i.pull.merged, i.open = true, false
	return merged
}

// mergeWaiting merges the pull requests that were to be merged once nothing is
// missing.
func (s *Server) mergeWaiting(r *repository) {
	for _, i := range r.items {
		if i.pull == nil || !i.open || i.pull.auto == "" {
			continue
		}
		if _, missing := s.mergeState(r, i); missing == "" {
			s.createMerge(r, i, i.pull.auto != "merge")
		}
	}
}

// autoMerge shows how a pull request is to be merged later.
func (i *item) autoMerge() any {
	if i.pull.auto == "" {
		return nil
	}
	return object{"merge_method": i.pull.auto, "enabled_by": object{"login": i.pull.autoBy}}
}
