package source

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

const (
	mainBranch   = "main"
	masterBranch = "master"
	originPrefix = "refs/remotes/origin/"
)

func (s *Source) baseCommit(revision string) (string, error) {
	resolve, isNamed := s.controlPlane.Resolve, revision != ""
	if !isNamed {
		revision, resolve = s.baseBranch(), func(name string) (string, error) { return s.findBranch(s.controlPlane, name) }
	}
	commit, err := resolve(revision)
	if err == nil && !isNamed {
		return s.findNewestAt(s.controlPlane, commit)
	}
	if !errors.Is(err, git.ErrNoRevision) {
		return commit, err
	}
	reason, advice := describeMissing(s.controlPlane, giturl.Redact(s.controlPlane.Location()), revision)
	if !isNamed && len(branchNames(s.controlPlane)) > 0 {
		advice += "; controlPlane.branch in the settings, or --base, names the branch of the base"
	}
	err = &problem.Refusal{Reason: reason, Advice: advice, Kind: err}
	if isNamed {
		err = &UnknownRevisionError{err}
	}
	return "", err
}

// findBranch returns the head of a branch: that of origin, if it is preferred, and contains the one here.
func (s *Source) findBranch(repo *git.Repository, name string) (string, error) {
	head, err := repo.Branch(name)
	if err != nil || !s.options.PreferOrigin {
		return head, err
	}
	all, err := repo.Refs(originPrefix + name)
	if err != nil {
		return "", err
	}
	theirs := all[originPrefix+name]
	if theirs == "" || theirs == head {
		return head, nil
	}
	isBehind, err := repo.Contains(theirs, head)
	if err != nil || !isBehind {
		return head, err
	}
	return theirs, nil
}

// maxThen bounds the commits of a branch among which the one of a time is looked for.
const maxThen = 10_000

// findNewestAt returns the newest commit of a branch that was made by the time at which everything is read. The error is
// git.ErrNoRevision if there is none.
func (s *Source) findNewestAt(repo *git.Repository, head string) (string, error) {
	if s.options.At.IsZero() {
		return head, nil
	}
	found, failed := "", error(nil)
	_, err := repo.FirstParents(head, maxThen, func(id string) bool {
		info, err := repo.Commit(id)
		if err == nil && !info.When.After(s.options.At) {
			found = id
		}
		failed = err
		return err != nil || found != ""
	})
	err = cmp.Or(failed, err)
	if err == nil && found == "" {
		err = fmt.Errorf("%w by %s", git.ErrNoRevision, s.options.At.Format(time.RFC3339))
	}
	return found, err
}

// UnknownRevisionError means that a repository does not have a revision that the caller named.
type UnknownRevisionError struct{ error }

// Unwrap returns what is wrong with the revision.
func (e *UnknownRevisionError) Unwrap() error { return e.error }

// baseBranch returns the name of the base's branch: what the options say; main; or, where there is no
// main, the default branch. In a clone that is the branch that is checked out, whatever it is, so that
// master comes before it.
func (s *Source) baseBranch() string {
	if s.options.BaseBranch != "" || s.controlPlane == nil {
		return cmp.Or(s.options.BaseBranch, mainBranch)
	}
	_, err := s.controlPlane.Branch(mainBranch)
	if !errors.Is(err, git.ErrNoRevision) {
		return mainBranch
	}
	candidates := []string{s.controlPlane.DefaultBranch(), masterBranch}
	if isClone(s.controlPlane) {
		slices.Reverse(candidates)
	}
	for _, name := range candidates {
		_, err := s.controlPlane.Branch(name)
		if !errors.Is(err, git.ErrNoRevision) {
			return name
		}
	}
	return mainBranch
}

// isClone reports whether a repository has branches of a remote beside its own, as a person's clone
// has and a mirror has not.
func isClone(repo *git.Repository) bool {
	tracked, err := repo.Refs(originPrefix)
	return err == nil && len(tracked) > 0
}

func describeMissing(repo *git.Repository, place, revision string) (reason, advice string) {
	clone := "this clone of " + place
	if place == "." {
		place, clone = "the repository here", "the clone here"
	}
	names := branchNames(repo)
	if len(names) == 0 {
		return fmt.Sprintf("%s is empty: it has no commits", place), "push a first commit to its branch " + mainBranch + "; fairlead init fills an empty control plane"
	}
	advice = problem.DidYouMean(revision, names)
	if more := len(names) - maxBranches; more > 0 {
		names = append(names[:maxBranches], fmt.Sprintf("%d more", more))
	}
	switch {
	case advice != "":
	case len(names) == 1:
		advice = "its only branch is " + names[0]
	default:
		advice = "its branches are " + text.Join(names, " and ")
	}
	switch command := repo.FetchCommand(); {
	case command != "":
		place, advice = clone, advice+"; it has only a part of the repository; fetch the rest: "+command
	case isClone(repo):
		advice += "; git fetch gets those that are newer"
	}
	return fmt.Sprintf("%s has no branch or commit %q", place, revision), advice
}

// maxBranches bounds the branches that are named.
const maxBranches = 8

// branchNames returns the names of the branches of a repository, also of those that only its origin
// has, sorted. Those that Fairlead proposes from are not among them.
func branchNames(repo *git.Repository) []string {
	names := map[string]bool{}
	for _, prefix := range []string{"refs/heads/", originPrefix} {
		refs, err := repo.Refs(prefix)
		if err != nil { // the sentence can do without
			continue
		}
		for ref := range refs {
			name := strings.TrimPrefix(ref, prefix)
			if name != "HEAD" && !strings.HasPrefix(name, "fairlead/") {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// commitID is what Flux takes for a commit, or the beginning of it. A name would follow
// a branch, whatever keeps the environment where it is.
var commitID = regexp.MustCompile(`^[0-9a-fA-F]{4,64}$`)

// IsCommit reports whether a text can be the id of a commit, or the beginning of one.
func IsCommit(text string) bool { return commitID.MatchString(text) }
