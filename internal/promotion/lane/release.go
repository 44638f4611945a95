package lane

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// NewestVersion is what a feed offers for the next release of its lane.
type NewestVersion struct {
	Feed string
	// FeedVersion has no Version if it is unknown.
	model.FeedVersion
	// Follows reports that the version may come after that of the last release: it contains its commit, or is greater.
	Follows bool
	// Unchanged reports that what is read is the same at both.
	Unchanged bool
	// Released reports that an earlier release has it: somebody has taken an older one since.
	Released bool
}

// NextRelease returns the release that follows another one, which is nil for the first one, and the feeds whose history was
// rewritten: they keep their versions, which never fall but by hand. It is nil if nothing is new.
func NextRelease(lane string, last *model.Release, found []NewestVersion) (next *model.Release, rewritten []string) {
	next = &model.Release{Lane: lane, Versions: map[string]model.FeedVersion{}}
	number, had := 0, map[string]model.FeedVersion{}
	if last != nil {
		had = last.Versions
		number, _ = strconv.Atoi(strings.TrimPrefix(last.Name, lane+"-"))
	}
	for _, f := range found {
		old, has := had[f.Feed]
		has = has && old.Registration == f.Registration && (f.Version == "" || old.IsRead() == f.IsRead())
		isSame := has && (f.IsSame(old) || f.Commit != "" && f.Commit == old.Commit)
		switch {
		case f.Version == "" && !has:
		case f.Version == "", isSame && f.Sets.Equal(old.Sets), has && !isSame && f.Follows && (f.Unchanged || f.Released):
			next.Versions[f.Feed] = old
		case has && !isSame && !f.Follows:
			next.Versions[f.Feed] = old
			rewritten = append(rewritten, f.Feed)
		default:
			next.Versions[f.Feed] = f.FeedVersion
		}
	}
	if model.EqualVersions(next.Versions, had) {
		return nil, rewritten
	}
	next.Name = fmt.Sprintf("%s-%d", lane, number+1)
	return next, rewritten
}
