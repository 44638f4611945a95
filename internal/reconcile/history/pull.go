package history

import (
	"cmp"
	"errors"
	"regexp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// Pull is a pull request of an output with its change, as of its merge or close.
type Pull struct {
	forge.Pull
	// Before is the branch's head at the proposal; "" for none.
	Before string
	// From and To are the rendered base commits before and after; "" if not named.
	From, To string
	// Commits are the known new commits of the base, newest first.
	Commits []git.CommitInfo
	// OwnFrom, OwnTo and OwnCommits are the same for the environment's branch.
	OwnFrom, OwnTo string
	OwnCommits     []git.CommitInfo
	// Unrendered has ids of commits that change nothing rendered.
	Unrendered []string
	Report     impact.Report
	// Lost is set if a commit is missing, so that the change is unknown.
	Lost bool
}

// Trailers for the base commit and the environment branch's commit.
const baseTrailer, ownTrailer = "Fairlead-Base", "Fairlead-Control-Plane"

// ListPullActions returns the actions on our pull requests in a repository. Entries of an
// environment's output have its name; others, such as removals, have none.
func ListPullActions(repo *git.Repository, url string, events []forge.PullEvent, environments []string) ([]Entry, error) {
	var all []Entry
	for _, ev := range events {
		if ev.Time.IsZero() {
			continue
		}
		reason, who := SplitAuthor(cleanLine(ev.Reason), cleanLine(ev.Who))
		e := Entry{
			Time: ev.Time, Who: who, Via: cleanLine(ev.Via), Action: ev.Action, Title: cleanLine(ev.Title), Reason: reason,
			Commit: cmp.Or(ev.Record, ev.Commit), Repo: url, Pull: ev.Number, URL: ev.URL,
		}
		if slices.Contains(environments, ev.Mark) {
			e.Environment = ev.Mark
			err := e.readCommits(repo, ev.Commit)
			if err != nil {
				return nil, err
			}
		}
		if e.Action == forge.MergeAction && publish.IsStopped(ev.Body) {
			e.Forced, e.Reason = cmp.Or(e.Reason, "no reason was given"), ""
			e.Overrides = []string{"problems stopped " + e.Environment + ", and it proposed what the files said before"}
		}
		all = append(all, e)
	}
	return all, nil
}

// closedBy matches the end of a reason for closing at the page.
var closedBy = regexp.MustCompile(`^(.*) \(by ([^()]+)\)$`)

// SplitAuthor splits a trailing author from a reason, for forges that do not report who closed it.
func SplitAuthor(reason, told string) (text, who string) {
	m := closedBy.FindStringSubmatch(reason)
	if m == nil || told != "" && told != m[2] {
		return reason, told
	}
	return m[1], m[2]
}

// readCommits sets the base commits of a merged output, unless the repository lost it.
func (e *Entry) readCommits(repo *git.Repository, output string) error {
	if output == "" {
		return nil
	}
	c, err := repo.Commit(output)
	if errors.Is(err, git.ErrNoRevision) {
		return nil
	}
	if err != nil {
		return err
	}
	e.To = readBase(c)
	if e.Action != forge.MergeAction || len(c.Parents) == 0 {
		return nil
	}
	before, err := repo.Commit(c.Parents[0])
	if errors.Is(err, git.ErrNoRevision) {
		return nil
	}
	if err != nil {
		return err
	}
	lanes := readLanes(before.Message)
	e.Lanes = slices.DeleteFunc(readLanes(c.Message), func(l LaneVersion) bool { return slices.Contains(lanes, l) })
	if from := readBase(before); from != e.To {
		e.From = from
	} else if len(e.Lanes) > 0 {
		e.To = ""
	} else if own := readTrailer(c, ownTrailer); own != readTrailer(before, ownTrailer) {
		e.Own.ID = own
	}
	return nil
}

// ReadPull reads the change of a pull request in a folder. It is Lost if the repository no longer
// has the commit: nothing keeps that of a closed one.
func ReadPull(repo *git.Repository, p forge.Pull, folder string, opt impact.Options) (Pull, error) {
	read, err := readPull(repo, p, folder, opt)
	if errors.Is(err, git.ErrNoRevision) {
		return Pull{Pull: p, Lost: true}, nil
	}
	return read, err
}

func readPull(repo *git.Repository, p forge.Pull, folder string, opt impact.Options) (Pull, error) {
	read := Pull{Pull: p}
	c, err := repo.Commit(p.Commit)
	if err != nil {
		return read, err
	}
	commits := []string{p.Commit}
	read.To, read.OwnTo = readBase(c), readTrailer(c, ownTrailer)
	if len(c.Parents) > 0 {
		read.Before = c.Parents[0]
		commits = append(commits, read.Before)
		before, err := repo.Commit(read.Before)
		if err != nil {
			return read, err
		}
		read.From, read.OwnFrom = readBase(before), readTrailer(before, ownTrailer)
	}
	read.Report, err = git.InspectTrees(repo, commits, func(t []tree.Tree) (impact.Report, error) {
		t = append(t, tree.Tree{})
		folder := publish.CleanFolder(folder)
		return publish.CompareFolders(t[1].Sub(folder), t[0].Sub(folder), opt), nil
	})
	return read, err
}

func readBase(c git.CommitInfo) string { return readTrailer(c, baseTrailer) }

func readTrailer(c git.CommitInfo, key string) string {
	all := publish.Trailers(c.Message)[key]
	if len(all) == 0 {
		return ""
	}
	return cleanLine(all[0])
}

// ReadCommits adds at most limit commits of the base. It omits lost ones.
func (p *Pull) ReadCommits(base *git.Repository, limit int) (err error) {
	p.Commits, err = commitsBetween(base, p.From, p.To, limit)
	return err
}

// ReadOwnCommits does the same for the environment's branch, without Fairlead's commits.
func (p *Pull) ReadOwnCommits(branch *git.Repository, limit int, isWritten func(commit string) (bool, error)) error {
	all, err := commitsBetween(branch, p.OwnFrom, p.OwnTo, limit)
	for _, c := range all {
		written, failed := isWritten(c.ID)
		if failed != nil {
			return failed
		}
		if !written {
			p.OwnCommits = append(p.OwnCommits, c)
		}
	}
	return err
}

func commitsBetween(repo *git.Repository, from, to string, limit int) ([]git.CommitInfo, error) {
	if repo == nil || from == "" || to == "" || from == to {
		return nil, nil
	}
	commits, err := repo.CommitsBetween(from, to, limit)
	if errors.Is(err, git.ErrNoRevision) {
		return nil, nil
	}
	return commits, err
}
