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

// Pull is a pull request of the output of an environment, and what it means: of one that was merged or closed,
// what it meant then.
type Pull struct {
	forge.Pull
	// Before is the commit that the branch held when it was proposed; "" if there was none.
	Before string
	// From and To are the commits of the base that the output was rendered from before, and with it; "" where
	// the commits do not name them.
	From, To string
	// Commits are those that came with it, the newest first, as far as they are known.
	Commits []git.CommitInfo
	// OwnFrom and OwnTo are, as From and To, the commits of the environment's branch, and OwnCommits those that came with
	// it.
	OwnFrom, OwnTo string
	OwnCommits     []git.CommitInfo
	// Unrendered are the ids of those of them that change nothing that is rendered.
	Unrendered []string
	Report     impact.Report
	// Lost reports that the repository has a commit of it no longer, so that nothing is known of what it changed.
	Lost bool
}

// baseTrailer names the commit of the base in a commit of an output, and ownTrailer that of the environment's branch.
const baseTrailer, ownTrailer = "Fairlead-Base", "Fairlead-Control-Plane"

// ListPullActions returns what was done to our pull requests in a repository. One that proposes the output of an
// environment is about that; others, such as those that remove what an environment has left, are about none.
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

// closedBy is the end of the reason of a pull request that a person closed at the page.
var closedBy = regexp.MustCompile(`^(.*) \(by ([^()]+)\)$`)

// SplitAuthor returns a reason without its end that names who did it, and who that is: some forges do not tell.
func SplitAuthor(reason, told string) (text, who string) {
	m := closedBy.FindStringSubmatch(reason)
	if m == nil || told != "" && told != m[2] {
		return reason, told
	}
	return m[1], m[2]
}

// readCommits sets the commits of the base of an output that was merged. A repository may have it no longer.
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
	if from := readBase(before); from != e.To {
		e.From = from
	} else if own := readTrailer(c, ownTrailer); own != readTrailer(before, ownTrailer) {
		e.Own.ID = own
	}
	return nil
}

// ReadPull reads from an output's repository what a pull request means for a folder of it. It is lost if the repository
// has its commit no longer: nothing holds that of one that was closed.
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

// ReadCommits adds the commits of the base that came with a pull request, as many as limit at most. What the
// base has lost is left out.
func (p *Pull) ReadCommits(base *git.Repository, limit int) (err error) {
	p.Commits, err = commitsBetween(base, p.From, p.To, limit)
	return err
}

// ReadOwnCommits adds, as ReadCommits, those of the environment's branch. Those that Fairlead wrote there are left out, as
// isWritten says.
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

// commitsBetween returns the commits after one, up to another one; nil if they are not known.
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
