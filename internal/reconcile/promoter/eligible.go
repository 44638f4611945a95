package promoter

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// describeUnavailable returns why an environment cannot have the release that it would get; "" if it can.
func describeUnavailable(ctx context.Context, m *Promoter, base source.Base, l *releaseLine, d *promote.Decision) string {
	if d.State != promote.Promotes {
		return ""
	}
	release := l.Find(d.Candidate)
	if release == nil {
		return ""
	}
	_, missing, err := source.CompleteRelease(ctx, m.source, base.Feeds, d.Environment, *release)
	if err != nil {
		return err.Error()
	}
	return missing
}

func (r Releases) describeSkipped(commit string, skips []*model.Skip) string {
	if len(skips) == 0 {
		return ""
	}
	release := r.Find(commit)
	if release == nil {
		return ""
	}
	feed, reason := release.FindSkipped(skips)
	if feed == "" {
		return ""
	}
	return fmt.Sprintf("%s %s is skipped: %s", feed, release.Versions[feed].Version, reason)
}

// findSkipped returns the releases that have a skipped version, and why it is.
func (r Releases) findSkipped(skips []*model.Skip) map[string]string {
	found, commits := map[string]string{}, r.Line.Commits()
	for _, commit := range commits[:min(len(commits), maxReleased)] {
		if reason := r.describeSkipped(commit, skips); reason != "" {
			found[commit] = reason
		}
	}
	return found
}

func (r Releases) withoutSkipped(skips []*model.Skip, stages []*stageState) promote.Line {
	skipped := r.findSkipped(skips)
	if len(skipped) == 0 {
		return r.Line
	}
	commits := r.Line.Commits()
	var kept []string
	for _, commit := range commits {
		isHad := slices.ContainsFunc(stages, func(s *stageState) bool { return s.stage.Commit == commit })
		if isHad || skipped[commit] == "" {
			kept = append(kept, commit)
		}
	}
	return promote.NewLine(kept).Named("branch "+source.ReleasesPrefix+r.Lane, r.nameOf(commits)).Barring(skipped)
}
