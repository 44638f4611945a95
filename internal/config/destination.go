package config

import (
	"fmt"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

func (c *checker) checkDestinations(all []Destination) {
	if c.isGiven("output.allow") && !c.isBroken("output.allow") && len(all) == 0 {
		c.addProblem("output.allow", "name the repositories, or leave it out", "allows no repository")
	}
	for i := range all {
		at := fmt.Sprintf("output.allow[%d]", i)
		c.checkRepository(at+".repo", &all[i].Repo)
		if c.isGiven(at+".branches") && !c.isBroken(at+".branches") && len(all[i].Branches) == 0 {
			c.addProblem(at+".branches", "leave it out for all branches", "allows no branch")
		}
		for j, pattern := range all[i].Branches {
			if _, err := path.Match(pattern, ""); err != nil {
				c.addProblem(fmt.Sprintf("%s.branches[%d]", at, j), `write names, or patterns as "release/*"`, "%q is not a pattern", pattern)
			}
		}
	}
}

// AllowsOutput reports whether output may go to a branch. named means that an entry is that very
// repository, not a prefix, and literally that it lists that very branch too.
func (s *Settings) AllowsOutput(repo, branch string) (allowed, named, literally bool) {
	if s.Output.Allow == nil {
		return true, false, false
	}
	is := giturl.Identify(repo)
	for _, d := range s.Output.Allow {
		to := giturl.Identify(d.Repo)
		matched := d.Branches == nil || slices.ContainsFunc(d.Branches, func(pattern string) bool {
			ok, err := path.Match(pattern, branch)
			return err == nil && ok
		})
		if !matched || !to.IsPrefixOf(is) {
			continue
		}
		allowed = true
		if to.Same(is) {
			named, literally = true, literally || slices.Contains(d.Branches, branch)
		}
	}
	return allowed, named, literally
}
