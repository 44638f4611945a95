package promoter

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// maxHistory bounds how many commits of the base's branch are read.
const maxHistory = 10_000

// maxCachedSteps bounds the cached steps of the line.
const maxCachedSteps = 20_000

// historyCache is what was last read of the base's branch. It may be lost.
type historyCache struct {
	actionCommits map[lineStep]bool // whether a step is one that is not promoted
	ownFolders    string            // the places that actionCommits was found with
	key           string            // what history was found for
	history       promote.Line
}

// lineStep is a commit of the base's line and the one before it; "" if there is none.
type lineStep struct{ commit, before string }

// loadHistory returns the line of the base's branch, newest first, back to the oldest commit that
// an environment has. Commits that change only what our commands and promotions write there are
// left out, unless an environment has one: a freeze is not something to promote, and neither is a
// promotion.
func (m *Promoter) loadHistory(base source.Base, has []string) (promote.Line, error) {
	own := strings.Join(base.Own, "\n")
	key := strings.Join(append([]string{base.Head, own}, has...), "\n")
	if m.historyCache.key == key {
		return m.historyCache.history, nil
	}
	if m.historyCache.actionCommits == nil || len(m.historyCache.actionCommits) > maxCachedSteps || m.historyCache.ownFolders != own {
		m.historyCache.actionCommits, m.historyCache.ownFolders = map[lineStep]bool{}, own
	}
	if len(has) == 0 {
		newest, err := ResolvePromotable(base, base.Head)
		if err != nil {
			return promote.Line{}, err
		}
		has = []string{newest}
	}
	w, err := readLine(base.Repo, base.Head, has, false)
	if err != nil {
		return promote.Line{}, err
	}
	h, err := w.toHistory(func(s lineStep) (bool, error) {
		if slices.Contains(has, s.commit) {
			return false, nil
		}
		return m.isActionCommit(base, s)
	})
	if err == nil {
		m.historyCache.key, m.historyCache.history = key, h
	}
	return h, err
}

func (m *Promoter) isActionCommit(base source.Base, s lineStep) (bool, error) {
	isAction, known := m.historyCache.actionCommits[s]
	if known {
		return isAction, nil
	}
	isAction, err := isActionCommit(base.Repo, s, base.Own)
	if m.historyCache.actionCommits == nil { // problems have kept the history from being read
		m.historyCache.actionCommits = map[lineStep]bool{}
	}
	if err == nil {
		m.historyCache.actionCommits[s] = isAction
	}
	return isAction, err
}

// ReadHistory returns the whole history of the base's branch, with those of some commits that the
// branch contains.
func ReadHistory(base source.Base, has ...string) (promote.Line, error) {
	has = slices.DeleteFunc(has, func(c string) bool { return !source.IsCommit(c) })
	w, err := readLine(base.Repo, base.Head, has, true)
	if err != nil {
		return promote.Line{}, err
	}
	return w.toHistory(func(lineStep) (bool, error) { return false, nil })
}

// ResolvePromotable returns the commit of a revision of the base, or the newest before it that
// changes more than what our commands and promotions write.
func ResolvePromotable(base source.Base, revision string) (string, error) {
	commit, err := base.Repo.Resolve(revision)
	if err != nil {
		return "", err
	}
	for range maxHistory {
		isAction, err := isActionCommit(base.Repo, lineStep{commit: commit}, base.Own)
		if err != nil || !isAction {
			return commit, err
		}
		info, err := base.Repo.Commit(commit)
		if err != nil {
			return "", err
		}
		commit = info.Parents[0] // the commit of an action has one
	}
	return commit, nil
}

// IsActionCommit reports whether a commit of the base changes only what our commands and promotions
// write, or what is in some more places, so that it is not promoted.
func IsActionCommit(base source.Base, commit string, more ...string) (bool, error) {
	return isActionCommit(base.Repo, lineStep{commit: commit}, append(base.Own[:len(base.Own):len(base.Own)], more...))
}

// isActionCommit reports whether a commit differs from the one before it only in our folder, and in
// what environments have on the base's own branch. If none is given, its first parent is the one
// before it.
func isActionCommit(repo *git.Repository, s lineStep, own []string) (bool, error) {
	info, err := repo.Commit(s.commit)
	if err != nil || len(info.Parents) == 0 {
		return false, err
	}
	if s.before == "" {
		s.before = info.Parents[0]
	}
	only, err := git.InspectTrees(repo, []string{s.before, s.commit}, func(t []tree.Tree) (bool, error) {
		return !tree.Equal(t[0], t[1]) && differInOnly("", t[0], t[1], append([]string{source.OwnFolder}, own...)), nil // an empty commit is a person's
	})
	var refused *git.InvalidTreeError
	if errors.As(err, &refused) { // none that our commands or promotions have written
		return false, nil
	}
	return only, err
}

// differInOnly reports whether all that differs between two folders is in some places. It reads
// only the folders on the way to these.
func differInOnly(prefix string, a, b tree.Tree, places []string) bool {
	for old, fresh := range tree.ZipChanged(a, b) {
		at := path.Join(prefix, max(old.Name, fresh.Name))
		switch {
		case slices.Contains(places, at):
		case !slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(place, at+"/") }),
			old.Name != "" && !old.IsDir(), fresh.Name != "" && !fresh.IsDir(), !differInOnly(at, old.Tree(), fresh.Tree(), places):
			return false
		}
	}
	return true
}

// firstParentLine is what the base's branch was at, newest first.
type firstParentLine struct {
	repo        *git.Repository
	whole       bool // it does not end with the oldest commit that is looked for
	commits     []string
	sideCommits []string // that the newest contains, and that are not among the commits
}

// readLine reads what the branch was at before it got to head, back to the oldest of some commits,
// or the whole of it. That is the first parents; but where a person merged the branch into their
// own work and pushed that, the branch was at another parent before: the one that contains all
// commits that it was known to be at, if the first does not.
func readLine(repo *git.Repository, head string, has []string, whole bool) (firstParentLine, error) {
	l := firstParentLine{repo: repo, whole: whole}
	err := l.appendFirstParents(head, has)
	lost := map[string]bool{} // that head does not contain
	for err == nil {
		var missing, at string
		turn := len(l.commits)
		for _, c := range has {
			if lost[c] || slices.Contains(l.commits, c) || slices.Contains(l.sideCommits, c) {
				continue
			}
			var n int
			n, err = l.countContaining(c)
			if err != nil {
				return l, err
			}
			lost[c] = n == 0
			if n > 0 && n <= turn {
				missing, at, turn = c, l.commits[n-1], n
			}
		}
		if missing == "" {
			break
		}
		var parent string
		parent, err = l.findParentWith(at, missing, has)
		if err == nil && parent != "" {
			l.commits = l.commits[:turn:turn]
			err = l.appendFirstParents(parent, has)
		} else {
			l.sideCommits = append(l.sideCommits, missing)
		}
	}
	return l, err
}

func (l *firstParentLine) appendFirstParents(commit string, until []string) error {
	missing := map[string]bool{}
	for _, c := range until {
		missing[c] = !slices.Contains(l.commits, c)
	}
	left := 0
	for _, is := range missing {
		if is {
			left++
		}
	}
	more, err := l.repo.FirstParents(commit, maxHistory-len(l.commits), func(c string) bool {
		if missing[c] {
			missing[c] = false
			left--
		}
		return left == 0 && !l.whole
	})
	l.commits = append(l.commits, more...)
	return err
}

func (l *firstParentLine) countContaining(commit string) (int, error) {
	return searchCount(len(l.commits), func(i int) (bool, error) { return l.repo.Contains(l.commits[i], commit) })
}

func searchCount(n int, is func(i int) (bool, error)) (int, error) {
	low, high := 0, n
	for low < high {
		middle := (low + high) / 2
		ok, err := is(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// findParentWith returns the parent of a merge that contains a commit, and all of these that the
// parent contains which the line goes on with; "" if there is none.
func (l *firstParentLine) findParentWith(merge, commit string, has []string) (string, error) {
	info, err := l.repo.Commit(merge)
	if err != nil {
		return "", err
	}
	next := ""
	if i := slices.Index(l.commits, merge); i+1 < len(l.commits) {
		next = l.commits[i+1]
	}
	for _, parent := range info.Parents {
		all, err := l.repo.Contains(parent, commit)
		for _, c := range has {
			if err != nil || !all {
				break
			}
			var before, too bool
			if next != "" {
				before, err = l.repo.Contains(next, c)
			}
			if before && err == nil {
				too, err = l.repo.Contains(parent, c)
				all = too
			}
		}
		if err != nil {
			return "", err
		}
		if all {
			return parent, nil
		}
	}
	return "", nil
}

func (l *firstParentLine) toHistory(leftOut func(lineStep) (bool, error)) (promote.Line, error) {
	var kept []string
	places := make([]int, len(l.commits)+1) // by index, how many that are newer are kept
	for i, commit := range l.commits {
		places[i] = len(kept)
		s := lineStep{commit: commit}
		if i+1 < len(l.commits) {
			s.before = l.commits[i+1]
		}
		out, err := leftOut(s)
		if err != nil {
			return promote.Line{}, err
		}
		if !out {
			kept = append(kept, commit)
		}
	}
	places[len(l.commits)] = len(kept)
	var beside []promote.SideCommit
	for _, commit := range l.sideCommits {
		newer, err := l.countContaining(commit)
		if err != nil {
			return promote.Line{}, err
		}
		older, err := searchCount(len(l.commits), func(i int) (bool, error) { // that are not in it
			contains, err := l.repo.Contains(commit, l.commits[i])
			return !contains, err
		})
		if err != nil {
			return promote.Line{}, err
		}
		beside = append(beside, promote.SideCommit{Commit: commit, Newer: places[newer], Older: places[older]})
	}
	return promote.NewLine(kept, beside...), nil
}

// CountNewer returns how many commits of the base's branch come after all of some that it contains,
// and would be promoted: those that only our commands and promotions write are not counted.
func CountNewer(base source.Base, has ...string) (int, error) {
	l, err := readLine(base.Repo, base.Head, has, false)
	if err != nil {
		return 0, err
	}
	newer := len(l.commits)
	for _, commit := range has {
		n, err := l.countContaining(commit)
		if err != nil {
			return 0, err
		}
		if slices.Contains(l.commits, commit) { // it contains itself
			n--
		}
		newer = min(newer, n)
	}
	count := 0
	for i, commit := range l.commits[:newer] {
		s := lineStep{commit: commit}
		if i+1 < len(l.commits) {
			s.before = l.commits[i+1]
		}
		written, err := isActionCommit(base.Repo, s, base.Own)
		if err != nil {
			return 0, err
		}
		if !written {
			count++
		}
	}
	return count, nil
}

type unrenderedCommit struct {
	id    string
	newer int
}

// findUnrendered returns the commits of the line that are not listed because no environment gets them, newest first,
// from before the oldest that is; none if the line cannot be read.
func (m *Promoter) findUnrendered(base source.Base, listed []string) (all []unrenderedCommit) {
	line, err := base.Repo.FirstParents(base.Head, 2*maxDescribed, func(c string) bool { return len(listed) > 0 && c == listed[len(listed)-1] })
	if err != nil {
		return nil
	}
	newer := 0
	for i, id := range line {
		if at := slices.Index(listed, id); at >= 0 {
			newer = at + 1
			continue
		}
		step := lineStep{commit: id}
		if i+1 < len(line) {
			step.before = line[i+1]
		}
		isAction, err := m.isActionCommit(base, step)
		if err == nil && isAction {
			all = append(all, unrenderedCommit{id, newer})
		}
	}
	return all
}

// findOlder returns commits that are promoted, newest first, from before the oldest of some; none if there
// are many already.
func (m *Promoter) findOlder(base source.Base, ids []string) (older []string) {
	if len(ids) == 0 || len(ids) == maxDescribed {
		return nil
	}
	infos, err := base.Repo.ListCommits(ids[len(ids)-1], 2*maxOlder)
	if err != nil {
		return nil
	}
	for _, info := range infos[1:] {
		isAction, err := m.isActionCommit(base, lineStep{commit: info.ID})
		if err == nil && !isAction && len(older) < maxOlder {
			older = append(older, info.ID)
		}
	}
	return older
}
