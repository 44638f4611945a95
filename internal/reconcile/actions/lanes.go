package actions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// HoldLane keeps the commit that an environment has of a lane until the lane is released.
func HoldLane(ctx context.Context, d *Session, environment, name, reason string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		c := change{
			action: holdAction, environment: environment, lane: name, reason: reason,
			title:   fmt.Sprintf("Hold lane %s in %s", name, environment),
			summary: fmt.Sprintf("lane %s in %s is held until fairlead release %[2]s --lane %[3]s", name, environment, text.QuoteShell(name)),
		}
		if !v.base.HasFeeds(name) {
			if _, err := newLaneView(v, name); err != nil {
				return c, err
			}
		} else if len(v.stage.After) == 0 {
			c.notes = append(c.notes, fmt.Sprintf("%s follows the base, so that this keeps the versions of the lane, and not its files; fairlead hold %[1]s keeps all", environment))
		}
		return c, c.writeHold(v, promoter.LaneHoldFile(v.branch.Folder, name), holdSpec{Reason: reason, Lane: name})
	})
}

// ReleaseLane removes the hold of a lane, even an unreadable one.
func ReleaseLane(ctx context.Context, d *Session, environment, name, reason string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		c := change{
			action: releaseAction, environment: environment, lane: name, reason: reason,
			title:   fmt.Sprintf("Release lane %s in %s", name, environment),
			summary: fmt.Sprintf("lane %s in %s is not held any more", name, environment),
		}
		file := promoter.LaneHoldFile(v.branch.Folder, name)
		r, _, err := newReleaseView(v, name)
		if err != nil {
			return c, err
		}
		back, err := r.FindReversal(v.branch, environment)
		if err != nil {
			return c, err
		}
		for _, h := range v.branch.Progress.LaneHolds {
			if h.Lane == name && h.Pos.File != file {
				return c, problem.Refusef("remove it from that file", "lane %s is also held by Hold/%s in %s, which no operator action wrote: %s", name, h.Name, h.Pos.File, h.Reason)
			}
		}
		_, isHeld, err := v.branch.Repo.FindEntry(v.branch.Head, file)
		if err == nil && back != nil {
			released, err := model.EncodeObject(model.HoldReleaseKind, "release", approvalSpec{Commit: back.Commit, Reason: reason})
			c.files = map[string][]byte{path.Join(v.branch.Folder, source.OwnFolder, "release-lane-"+name+".yaml"): released}
			if isHeld {
				c.files[file] = nil
			}
			return c, err
		}
		if err == nil && !isHeld {
			c.summary = fmt.Sprintf("lane %s in %s is not held", name, environment)
			if !v.base.HasFeeds(name) {
				_, err = newLaneView(v, name)
			}
		}
		if err != nil || !isHeld {
			return c, err
		}
		c.files = map[string][]byte{file: nil}
		return c, nil
	})
}

func describeVersion(commit, name string) string {
	if name == "" {
		return text.ShortCommit(commit)
	}
	return fmt.Sprintf("%s of lane %s", text.ShortCommit(commit), name)
}

type laneView struct {
	snapshot
	name      string
	lanes     model.Lanes
	partition lane.Partition
	has       lane.Composition
}

func newLaneView(v snapshot, name string) (laneView, error) {
	environment := v.stage.Name
	lanes := promoter.DefinedLanes(v.base)
	switch whole := fmt.Sprintf("leave out --lane; %s moves as a whole", environment); {
	case lanes == nil:
		return laneView{}, errNoLanes
	case len(v.stage.After) == 0:
		return laneView{}, problem.Refusef(whole, "%s comes after no other environment, so that it follows the base", environment)
	case v.stage.Record == "pull-request":
		return laneView{}, problem.Refusef(whole, "the record of %s is written by pull requests, which propose whole commits", environment)
	case !promoter.HasLanesOf(v.branch, *lanes):
		return laneView{}, problem.Refusef(whole+" until it has what one commit has", "%s has lanes that the Promotion does not define so", environment)
	}
	l := laneView{snapshot: v, name: name, lanes: *lanes, partition: lane.NewPartition(*lanes)}
	present, err := v.currentCommit()
	switch {
	case err != nil:
		return l, err
	case present == "":
		return l, problem.Refusef("fairlead promote "+environment, "%s has no commit yet", environment)
	case !v.history.Contains(present):
		return l, problem.Refusef(fmt.Sprintf("fairlead rollback %s --to COMMIT --reason TEXT", environment), "%s has %s, which is not on the base's branch", environment, text.ShortCommit(present))
	}
	l.has = promoter.ResolveBase(v.base, lane.Composition{Platform: present, Lanes: promoter.ListedLanes(v.branch)})
	if l.has.Lanes[name] == "" {
		err = CheckLane(v.base, name, present)
	}
	return l, err
}

// CheckLane refuses a lane that neither the head of the base nor these commits have.
func CheckLane(base source.Base, name string, commits ...string) error {
	lanes := promoter.DefinedLanes(base)
	if lanes == nil {
		return errNoLanes
	}
	partition := lane.NewPartition(*lanes)
	known := []string{lane.Platform}
	for _, commit := range append([]string{base.Head}, commits...) {
		found, err := git.InspectTree(base.Repo, commit, func(t tree.Tree) ([]string, error) { return partition.ListLanes(t), nil })
		if err != nil {
			return err
		}
		known = append(known, found...)
		if slices.Contains(known, name) {
			return nil
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	return problem.Refusef(cmp.Or(problem.DidYouMean(name, known), "the lanes are "+text.Join(known[:min(len(known), maxNamed)], ", ")), "there is no lane %s", name)
}

var errNoLanes = problem.Refusef("write lanes: {each: workloads/*} into its spec, or leave out --lane", "the Promotion defines no lanes")

func (l laneView) readHistory(commits ...string) (lane.History, error) {
	oldest := 0
	for _, commit := range slices.Concat(commits, []string{l.has.Platform}, slices.Collect(maps.Values(l.has.Lanes))) {
		if newer, _, known := l.history.Position(commit); known {
			oldest = max(oldest, newer)
		}
	}
	all := l.history.Commits()
	line := promote.NewLine(all[:min(oldest+1, len(all))])
	return lane.NewHistory(line, func(commit, before string) ([]string, error) {
		return promoter.ReadChangedLanes(l.base, l.partition, commit, before)
	})
}

func (l laneView) present(h lane.History) string {
	return h.Version(l.name, cmp.Or(l.has.Lanes[l.name], l.has.Platform))
}

func (l laneView) resolveVersion(revision string) (string, lane.History, error) {
	commit, err := promoter.ResolvePromotable(l.base, revision)
	if err != nil {
		return "", lane.History{}, err
	}
	if !l.history.Contains(commit) {
		return "", lane.History{}, problem.Refusef("merge it there first; only what is there is promoted", "commit %s is not on the base's branch", text.ShortCommit(commit))
	}
	h, err := l.readHistory(commit)
	return h.Version(l.name, commit), h, err
}

func (l laneView) findCandidate(revision string, known *status.Chain) (string, lane.History, error) {
	if revision == "" {
		s, _ := findStage(known, l.stage.Name)
		revision = s.FindLane(l.name).Next
	}
	if revision == "" {
		return "", lane.History{}, problem.Refusef("name the commit", "it is not known which commit is next for lane %s in %s", l.name, l.stage.Name)
	}
	return l.resolveVersion(revision)
}

func findApprovedLane(v snapshot, a Approval) (commit, present string, err error) {
	r, release, err := findRelease(v, a.Lane, a.Commit, a.Report)
	if err != nil || release != "" {
		return release, r.present(), err
	}
	l, err := newLaneView(v, a.Lane)
	if err != nil {
		return "", "", err
	}
	commit, h, err := l.findCandidate(a.Commit, a.Report)
	return commit, l.present(h), err
}

func promoteLane(ctx context.Context, d *Session, v snapshot, p Promotion) (change, error) {
	r, release, err := findRelease(v, p.Lane, p.Commit, p.Report)
	if err == nil && p.Commit == "" && p.From != "" {
		release, err = findSentRelease(ctx, d, r, p.From)
	}
	if err != nil || release != "" {
		if err != nil {
			return change{}, err
		}
		return promoteRelease(ctx, d, r, release, p, d.options.Now())
	}
	l, err := newLaneView(v, p.Lane)
	if err != nil {
		return change{}, err
	}
	if p.Lane == lane.Platform {
		return change{}, problem.Refusef("fairlead promote "+p.Environment+" promotes the whole", "the platform is promoted with all lanes")
	}
	if p.Commit == "" && p.From != "" {
		p.Commit, err = d.readCommit(ctx, v, p.From)
		if err != nil {
			return change{}, err
		}
	}
	version, h, err := l.findCandidate(p.Commit, p.Report)
	if err != nil {
		return change{}, err
	}
	present := l.present(h)
	what := describeVersion(version, p.Lane)
	c := change{
		action: promoteAction, environment: p.Environment, lane: p.Lane, from: present, to: version, reason: p.Reason,
		title:   fmt.Sprintf("Promote %s to %s", what, p.Environment),
		summary: fmt.Sprintf("%s gets %s", p.Environment, what),
	}
	switch {
	case version == present:
		c.summary = fmt.Sprintf("%s has %s already", p.Environment, what)
		return c, nil
	case !h.Line(p.Lane).IsNewer(version, present):
		return c, problem.Refusef(fmt.Sprintf("fairlead rollback %s --lane %s --to %s --reason TEXT goes back, and stays there", p.Environment, text.QuoteShell(p.Lane), text.ShortCommit(version)),
			"%s is older than %s, which %s has", what, text.ShortCommit(present), p.Environment)
	}
	for _, r := range l.findObjections(p, version, h.JoinedLanes(p.Lane, present, version), d) {
		if !p.Force {
			return change{}, r
		}
		c.overridden = append(c.overridden, r.Reason)
	}
	if c.overridden != nil {
		c.forced, c.reason = p.Reason, ""
	}
	return l.withVersion(ctx, c, d, h)
}

func (l laneView) findObjections(p Promotion, version string, joined map[string]string, d *Session) objections {
	all := newObjections(l.snapshot)
	for _, h := range l.branch.Progress.LaneHolds {
		if h.Lane == l.name {
			all.add(fmt.Sprintf("fairlead release %s --lane %s ends that", p.Environment, text.QuoteShell(l.name)), "lane %s is held in %s: %s", l.name, p.Environment, h.Reason)
		}
	}
	if frozen := gate.EvaluateFreezes(gate.Facts{Now: d.options.Now(), Environment: p.Environment, Commit: version, Freezes: l.base.Progress.Freezes}); frozen.Status != gate.Pass {
		all.add("wait for its end, or insist with --force --reason TEXT", "%s", frozen.Reason)
	}
	for _, other := range slices.Sorted(maps.Keys(joined)) {
		all.add("promote the whole, or insist with --force --reason TEXT", "%s changes %s too, which keeps its version", text.ShortCommit(joined[other]), other)
	}
	const hint = "wait for it, or insist with --force --reason TEXT"
	s, known := findStage(p.Report, p.Environment)
	switch found := s.FindLane(l.name); {
	case !known || found.Next != version:
		all.add(hint, "it is not known whether %s was verified in %s", describeVersion(version, l.name), text.Join(l.stage.After, " and "))
	case found.Reason != "" && len(all) == 0:
		all.add(hint, "lane %s waits: %s", l.name, found.Reason)
	}
	return all
}

func (l laneView) withVersion(ctx context.Context, c change, d *Session, h lane.History) (change, error) {
	next := h.Move(l.has, l.name, c.to)
	broken, err := l.findBreak(ctx, d, next)
	if err != nil {
		return c, err
	}
	if broken != "" {
		return c, problem.Refusef("name another commit, or leave out --lane", "%s cannot be rendered with %s: %s", c.environment, describeVersion(c.to, l.name), broken)
	}
	return l.withBase(c, d, next, l.lanes)
}

// findBreak returns why the environment cannot be rendered with a base; "" if it can, or cannot be rendered as it is either.
func (l laneView) findBreak(ctx context.Context, d *Session, next lane.Composition) (string, error) {
	var cache output.Cache
	broken := ""
	for _, base := range []lane.Composition{next, l.has} {
		r, err := d.source.Render(ctx, l.stage.Name, source.Revisions{Base: base.Platform, Lanes: source.Lanes{Partition: l.partition, Commits: base.Lanes}}, &cache)
		if err != nil {
			return "", err
		}
		p, stops := r.Problems.FirstStopping()
		if stops == (broken != "") {
			return "", nil
		}
		broken = p.String()
	}
	return broken, nil
}

func rollBackLane(ctx context.Context, d *Session, v snapshot, b Rollback) (change, error) {
	r, has, err := newReleaseView(v, b.Lane)
	if err != nil {
		return change{}, err
	}
	if has && b.To != "" {
		release, err := r.resolveRelease(b.To)
		if err != nil {
			return change{}, err
		}
		has = release != ""
	}
	if has && r.pins != nil {
		return rollBackRelease(ctx, d, r, b)
	}
	l, err := newLaneView(v, b.Lane)
	if err != nil {
		return change{}, err
	}
	if b.Lane == lane.Platform {
		return change{}, problem.Refusef("fairlead rollback "+b.Environment+" rolls the whole back", "the platform is rolled back with all lanes")
	}
	had, err := l.listBases()
	if err != nil {
		return change{}, err
	}
	commits := []string{}
	for _, base := range had {
		commits = append(commits, base.Platform, base.Lanes[b.Lane])
	}
	wanted := ""
	var h lane.History
	if b.To != "" {
		commit, err := promoter.ResolvePromotable(l.base, b.To)
		if err != nil {
			return change{}, err
		}
		commits, wanted = append(commits, commit), commit
	}
	h, err = l.readHistory(commits...)
	if err != nil {
		return change{}, err
	}
	present := l.present(h)
	target, isVerified := "", false
	if wanted != "" {
		target, err = l.checkTarget(h, present, wanted, had)
	} else {
		target, isVerified, err = l.findTarget(ctx, d, h, present, had)
	}
	if err != nil {
		return change{}, err
	}
	what := describeVersion(target, b.Lane)
	c := change{
		action: rollbackAction, environment: b.Environment, lane: b.Lane, from: present, to: target, reason: b.Reason,
		title:   fmt.Sprintf("Roll lane %s in %s back to %s", b.Lane, b.Environment, text.ShortCommit(target)),
		summary: fmt.Sprintf("%s goes back to %s, and stays there until fairlead release %[1]s --lane %[3]s", b.Environment, what, text.QuoteShell(b.Lane)),
	}
	if wanted == "" && !isVerified {
		c.notes = append(c.notes, fmt.Sprintf("no older commit of lane %s that %s had is known to be verified there; this is the last one", b.Lane, b.Environment))
	}
	joined := h.JoinedLanes(b.Lane, target, present)
	for _, other := range slices.Sorted(maps.Keys(joined)) {
		c.notes = append(c.notes, fmt.Sprintf("%s changes %s too, which keeps its version", text.ShortCommit(joined[other]), other))
	}
	c, err = l.withVersion(ctx, c, d, h)
	if err == nil {
		err = c.writeHold(v, promoter.LaneHoldFile(v.branch.Folder, b.Lane), holdSpec{Reason: b.Reason, Lane: b.Lane})
	}
	return c, err
}

func (l laneView) listBases() ([]lane.Composition, error) {
	had, err := l.branch.ListBases(maxRecords, maxVersions)
	for i := range had {
		had[i] = promoter.ResolveBase(l.snapshot.base, had[i])
	}
	return had, err
}

func (l laneView) versions(h lane.History, had []lane.Composition) (all []string) {
	for _, base := range had {
		version := h.Version(l.name, cmp.Or(base.Lanes[l.name], base.Platform))
		if version != "" && !slices.Contains(all, version) {
			all = append(all, version)
		}
	}
	return all
}

func (l laneView) findTarget(ctx context.Context, d *Session, h lane.History, present string, had []lane.Composition) (target string, isVerified bool, err error) {
	isOlder := func(version string) bool { return h.Line(l.name).IsNewer(present, version) }
	for _, version := range l.versions(h, had) {
		if isOlder(version) {
			target = cmp.Or(target, version)
		}
	}
	for _, base := range had {
		version := l.versions(h, []lane.Composition{base})
		if len(base.Lanes) == 0 && len(version) > 0 && isOlder(version[0]) && d.readEvidence(ctx, l.stage.Name, base.Platform) == promoter.Verified {
			return version[0], true, ctx.Err()
		}
	}
	if target == "" {
		return "", false, problem.Refusef(fmt.Sprintf("fairlead hold %s --lane %s --reason TEXT keeps it where it is", l.stage.Name, text.QuoteShell(l.name)), "%s had no older commit of lane %s before", l.stage.Name, l.name)
	}
	return target, false, ctx.Err()
}

func (l laneView) checkTarget(h lane.History, present, commit string, had []lane.Composition) (string, error) {
	version := h.Version(l.name, commit)
	what := describeVersion(version, l.name)
	switch {
	case !l.history.Contains(commit):
		return "", problem.Refusef("", "commit %s is not on the base's branch", text.ShortCommit(commit))
	case version == present:
		return "", problem.Refusef(fmt.Sprintf("fairlead hold %s --lane %s --reason TEXT keeps it there", l.stage.Name, text.QuoteShell(l.name)), "%s has %s", l.stage.Name, what)
	case !h.Line(l.name).IsNewer(present, version):
		return "", problem.Refusef("fairlead promote goes forward", "%s is newer than %s, which %s has", what, text.ShortCommit(present), l.stage.Name)
	case !slices.Contains(l.versions(h, had), version):
		return "", problem.Refusef("go back to one that it had: git log of "+l.stage.Name+"'s branch has them", "%s never had %s", l.stage.Name, what)
	}
	return version, nil
}
