package git

import (
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// FirstParents returns commit and its first-parent ancestors, newest first, up to limit or a commit
// for which stop reports true.
func (r *Repository) FirstParents(commit string, limit int, stop func(commit string) bool) ([]string, error) {
	var line []string
	for commit != "" && len(line) < limit {
		line = append(line, commit)
		if stop(commit) {
			break
		}
		info, err := r.Commit(commit)
		if err != nil {
			return nil, err
		}
		commit = ""
		if len(info.Parents) > 0 {
			commit = info.Parents[0]
		}
	}
	return line, nil
}

// ListCommits returns up to limit commits along first parents, newest first.
func (r *Repository) ListCommits(commit string, limit int) ([]CommitInfo, error) {
	var infos []CommitInfo
	for commit != "" && len(infos) < limit {
		info, err := r.Commit(commit)
		if err != nil {
			return nil, err
		}
		infos, commit = append(infos, info), ""
		if len(info.Parents) > 0 {
			commit = info.Parents[0]
		}
	}
	return infos, nil
}

// LastChangedBy returns the commit that last changed a file, along first parents, or the last of
// limit commits.
func (r *Repository) LastChangedBy(commit, file string, limit int) (CommitInfo, error) {
	fileAt := func(commit string) (tree.ID, error) {
		e, _, err := r.FindEntry(commit, file)
		return e.ID, err
	}
	if err := r.prefetchFile(commit, file); err != nil {
		return CommitInfo{}, err
	}
	want, err := fileAt(commit)
	if err != nil {
		return CommitInfo{}, err
	}
	for looked := 0; ; looked++ {
		if looked%prefetchCommits == prefetchCommits-1 {
			if err := r.prefetchFile(commit, file); err != nil {
				return CommitInfo{}, err
			}
		}
		info, err := r.Commit(commit)
		if err != nil {
			return CommitInfo{}, err
		}
		limit--
		if limit <= 0 || len(info.Parents) == 0 {
			return info, nil
		}
		before, err := fileAt(info.Parents[0])
		if err != nil {
			return CommitInfo{}, err
		}
		if before != want {
			return info, nil
		}
		commit = info.Parents[0]
	}
}

// FileVersions returns the distinct consecutive contents of a file along first parents, newest
// first. It reads at most limit commits and returns at most versions contents.
func (r *Repository) FileVersions(commit, file string, limit, versions int) ([][]byte, error) {
	line, err := r.FirstParents(commit, limit, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	var all [][]byte
	var last tree.ID
	for i, id := range line {
		if i%prefetchCommits == 0 {
			if err := r.prefetchFile(id, file); err != nil {
				return nil, err
			}
		}
		e, ok, err := r.FindEntry(id, file)
		if err != nil {
			return nil, err
		}
		if !ok || e.ID == last {
			continue
		}
		last = e.ID
		all = append(all, e.Data)
		if len(all) == versions {
			break
		}
	}
	return all, nil
}

// CommitsBetween returns up to limit commits reachable from to but not from from, which is "" or a
// first-parent ancestor of to.
func (r *Repository) CommitsBetween(from, to string, limit int) ([]CommitInfo, error) {
	before := map[string]bool{}
	if from != "" {
		line, err := r.FirstParents(from, limit, func(string) bool { return false })
		if err != nil {
			return nil, err
		}
		for _, commit := range line {
			before[commit] = true
		}
	}
	var all []CommitInfo
	for next := []string{to}; len(next) > 0 && len(all) < limit; next = next[1:] {
		if before[next[0]] {
			continue
		}
		before[next[0]] = true
		info, err := r.Commit(next[0])
		if err != nil {
			return nil, err
		}
		all = append(all, info)
		next = append(next, info.Parents...)
	}
	return all, nil
}
