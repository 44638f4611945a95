package lever

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/session"
)

const maxChoices = 10

func (o *Operator) newLever(who *session.Person, q Request) answer.Lever {
	l := answer.Lever{
		Lever: q.Lever, Environment: q.Environment, Fields: map[string][]string{}, Question: question(q), Effects: []string{}, NeedsReason: q.needsReason(),
		Reason: q.Reason, Author: fmt.Sprintf("%s <%s>", who.Name, who.Email), Command: commandLine(q),
	}
	for name, value := range map[string]string{"commit": q.Commit, "scope": q.Scope, "lane": q.Lane, "wave": q.Wave, "name": q.Name, "from": q.From, "to": q.To, "env": q.Environment, "stack": q.Stack, "component": q.Component, "inputs": q.Inputs, "digest": q.Digest} {
		if value != "" {
			l.Fields[name] = []string{value}
		}
	}
	if q.Lever == Teardown {
		l.Typed = q.Stack
	}
	if q.isFreeze() && len(q.Environments) > 0 {
		l.Fields["env"] = q.Environments
	}
	if q.Force {
		l.Fields["force"] = []string{"true"}
	}
	return l
}

// maxAsked bounds the environments that a question names.
const maxAsked = 3

func question(q Request) string {
	e := q.Environment
	switch q.Lever {
	case Approve:
		return "Approve a commit for " + e + "?"
	case Removals:
		return "Approve removals in " + e + "?"
	case Promote:
		return "Promote a commit to " + e + "?"
	case Hold:
		return "Hold " + e + "?"
	case Release:
		return "Release " + e + "?"
	case Merge:
		return "Merge the pull request of " + e + "?"
	case Close:
		return "Close the pull request of " + e + "?"
	case Reopen:
		return "Reopen the pull request of " + e + "?"
	case Freeze:
		what := "environments"
		if n := len(q.Environments); n > 0 && n <= maxAsked {
			what = text.Join(q.Environments, " and ")
		}
		return "Freeze " + what + " for a time?"
	case Except:
		return "Let a commit pass a freeze?"
	case End:
		return "End a freeze?"
	case ApprovePlan, Teardown:
		return questionOfStack(q)
	default:
		return "Roll " + e + " back?"
	}
}

func commandLine(q Request) string {
	words := []string{"fairlead", q.Lever, q.Environment}
	switch {
	case q.isFreeze():
		return strings.Join(append(commandOfFreeze(q), "--reason TEXT"), " ")
	case q.Lever == Removals:
		return strings.Join(slices.DeleteFunc([]string{"fairlead", Approve, q.Environment, q.Commit, "--removals", "--reason TEXT"}, func(s string) bool { return s == "" }), " ")
	case q.isStack():
		return strings.Join(append(commandOfStack(q), "--reason TEXT"), " ")
	case q.isPull():
		return commandOfPull(q, "NUMBER")
	case q.Commit == "":
	case q.Lever == Rollback:
		words = append(words, "--to", q.Commit)
	default:
		words = append(words, q.Commit)
	}
	if q.Lane != "" {
		words = append(words, "--lane", text.QuoteShell(q.Lane))
	}
	if q.Wave != "" {
		words = append(words, "--wave", text.QuoteShell(q.Wave))
	}
	if q.Scope != "" {
		words = append(words, "--scope", q.Scope)
	}
	if q.Force {
		words = append(words, "--force")
	}
	return strings.Join(append(words, "--reason TEXT"), " ")
}

func (o *Operator) describePlan(ctx context.Context, d *actions.Session, q Request, p actions.Plan, l *answer.Lever) {
	now := o.options.Store.Snapshot()
	stage, _ := now.Chain.FindStage(q.Environment)
	l.Repo, l.Branch, l.Head, l.Message, l.Files, l.Forced = p.Repo, p.Branch, p.Head, p.Message, p.Files, p.Forced
	l.Question = strings.TrimSuffix(firstLine(p.Message), ".") + "?"
	if len(p.Files) == 0 {
		l.Nothing = p.Summary
	}
	source := answer.Source{Snapshot: now}
	if p.To != "" {
		l.To = source.Commit(p.To)
		if q.Commit == "" && slices.Contains(Names(), q.Lever) { // a copied command means the commit that was seen
			named := q
			named.Commit = text.ShortCommit(p.To)
			l.Command = commandLine(named)
		}
	}
	if p.Current != "" && p.Current != p.To {
		l.From = source.Commit(p.Current)
	}
	if l.To != nil && p.Current != p.To && q.Environment != "" && p.Next.Base != "" {
		report, err := d.CompareCommits(ctx, q.Environment, p.Current, p.Next)
		if err != nil {
			l.Unknown = answer.CleanText(err.Error())
		} else {
			l.Impact, l.Deletes = answer.CleanText(report.Text()), report.Deletes()
		}
	}
	switch {
	case q.isFreeze():
		l.Effects = o.findFreezeEffects(ctx, d, q, p.To, now)
	case q.Lever == Removals:
		e, _ := now.FindEnvironment(q.Environment)
		describeRemovals(e, l)
	case q.isStack():
		l.Effects = append(o.findStackEffects(q), list.Convert(p.Notes, func(note string) string { return note + "." })...)
	default:
		l.Effects = append(findEffects(q, p, stage, now.Chain), p.Notes...)
		who := session.FindPerson(ctx)
		why := stage.Next.Verdict.RefuseApprover(Identity(*who))
		switch {
		case q.Lever != Approve || p.To != stage.Next.Candidate:
		case why != "":
			l.Effects = append(append([]string{"Your approval does not count: " + why + "."}, l.Effects...), describeGates(stage, "")...)
		default:
			l.Effects = append(l.Effects, describeApproved(stage)...)
		}
	}
	l.Seen = digestLever(session.FindPerson(ctx), q, *l)
	if q.Lever == Freeze {
		l.Effects = append([]string{o.describePeriod(q)}, l.Effects...) // not part of the digest: 7d is later on confirmation
	}
}

func digestLever(who *session.Person, q Request, l answer.Lever) string {
	var paths []string
	for _, f := range l.Files {
		paths = append(paths, f.Path)
	}
	seen, _ := json.Marshal([]any{who.Actor(), q.Lever, l.Fields, l.Repo, l.Branch, l.Head, l.From, l.To, l.Effects, l.Impact, l.Unknown, l.Forced, paths}) // texts always encode
	sum := sha256.Sum256(seen)
	return hex.EncodeToString(sum[:16])
}

func findEffects(q Request, p actions.Plan, stage status.Stage, chain status.Chain) []string {
	if q.Lane != "" {
		return findLaneEffects(q, p, stage, chain)
	}
	e := q.Environment
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	next := stage.Next.Candidate
	if next == stage.Commit {
		next = ""
	}
	switch q.Lever {
	case Hold:
		if stage.Hold != "" {
			add("%s is held already: %s.", e, strings.TrimSuffix(stage.Hold, "."))
		}
		if q.Scope == "promotion" {
			add("Nothing is promoted to %s until somebody releases it. Changes of its own branch and of workloads go on.", e)
		} else {
			add("Nothing is promoted to %s, and Fairlead merges no change of its output, until somebody releases it.", e)
		}
		if next != "" {
			add("Waits behind it: %s.", nameCommit(chain, next))
		}
		all = append(all, describeDownstream(e, chain)...)
	case Release:
		switch {
		case len(p.Files) == 0:
		case next == "" && !stage.Merged && stage.Pull != nil: // the current promotion continues
		case next == "":
			add("No newer commit is ready for %s: it keeps %s.", e, nameCommit(chain, stage.Commit))
		default:
			again := ""
			if slices.Contains(p.Had, next) {
				again = fmt.Sprintf(", which %s was promoted to before and went back from. Revert it in the base first if it must not come again", e)
			}
			add("Comes then: %s%s.", nameCommit(chain, next), again)
			all = append(all, describeGates(stage, holdGate)...)
		}
		if len(p.Files) > 0 && stage.Pull != nil {
			add("%s", describeHeldPull(stage, chain))
		}
		for _, reason := range p.Held {
			add("It was held because: %s", strings.TrimSpace(reason))
		}
	case Approve:
		if stage.AsksNobody && q.Wave == "" {
			add("No gate of %s asks for approvals, so this one changes nothing.", e)
		}
		for _, a := range p.Approvals {
			add("Approved already by %s.", a.Approver)
		}
	case Promote:
		for _, objection := range p.Forced {
			add("Overrides: %s.", objection)
		}
		if stage.After != nil {
			add("%s comes after %s.", e, text.Join(stage.After, " and "))
		}
	case Rollback:
		if p.Current != "" {
			add("%s, and commits between it and %s, are no longer treated as verified in %s.", nameCommit(chain, p.Current), text.ShortCommit(p.To), e)
		}
		add("%s is then held until somebody releases it.", e)
		all = append(all, describeDownstream(e, chain)...)
	}
	return all
}

func findLaneEffects(q Request, p actions.Plan, stage status.Stage, chain status.Chain) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	l := stage.FindLane(q.Lane)
	switch q.Lever {
	case Hold:
		add("Lane %s keeps its commit in %s until somebody releases it. Other lanes are promoted without what changes it.", q.Lane, q.Environment)
		if l.Next != "" {
			add("Waits behind it: %s.", nameCommit(chain, l.Next))
		}
	case Release:
		if l.Hold != "" {
			add("It was held because: %s", l.Hold)
		}
		if l.Next != "" {
			add("Comes then: %s.", nameCommit(chain, l.Next))
		}
	case Approve:
		for _, a := range p.Approvals {
			add("Approved already by %s.", a.Approver)
		}
	case Promote:
		for _, objection := range p.Forced {
			add("Overrides: %s.", objection)
		}
		add("Only files of lane %s change: all else keeps its commit in %s.", q.Lane, q.Environment)
	case Rollback:
		add("%s is no longer treated as verified in %s for lane %s.", nameCommit(chain, p.Current), q.Environment, q.Lane)
		add("Lane %s is then held in %s until somebody releases it.", q.Lane, q.Environment)
	}
	return all
}

func describeHeldPull(stage status.Stage, chain status.Chain) string {
	brings := fmt.Sprintf("Pull request %d", stage.Pull.Number)
	if !stage.Merged {
		brings += fmt.Sprintf(", which brings %s,", nameCommit(chain, stage.Commit))
	}
	for _, w := range stage.Withheld {
		if w.Cause != holdGate {
			return fmt.Sprintf("%s still waits for a person then: %s.", brings, w.Reason)
		}
	}
	return brings + " is then merged at once, unless merging is left to people there."
}

// holdGate passes after a release.
const holdGate = "hold"

func describeGates(stage status.Stage, without string) []string {
	var all []string
	for _, v := range findUnpassed(stage) {
		if v.Gate != without {
			all = append(all, fmt.Sprintf("The gate %s does not pass yet: %s.", v.Gate, v.Reason))
		}
	}
	return all
}

func describeApproved(stage status.Stage) []string {
	var all []string
	for _, v := range findUnpassed(stage) {
		switch {
		case v.Approvers == nil:
			all = append(all, fmt.Sprintf("Then the gate %s does not pass yet: %s.", v.Gate, v.Reason))
		case v.Approvers.Missing > 1:
			all = append(all, fmt.Sprintf("Then %s still missing for the gate %s.", countMissing(v.Approvers.Missing-1), v.Gate))
		}
	}
	if all == nil && stage.Next.State == promote.Waiting {
		all = []string{fmt.Sprintf("Then it is promoted to %s at once.", stage.Environment)}
	}
	return all
}

func countMissing(n int) string {
	if n == 1 {
		return "1 approval is"
	}
	return fmt.Sprintf("%d approvals are", n)
}

func findUnpassed(stage status.Stage) (all []gate.Verdict) {
	var walk func(v gate.Verdict)
	walk = func(v gate.Verdict) {
		switch {
		case v.Status == gate.Pass:
		case len(v.Parts) > 0:
			for _, p := range v.Parts {
				walk(p)
			}
		case v.Reason != "":
			all = append(all, v)
		}
	}
	if stage.Next.State == promote.Waiting || stage.Next.State == promote.Held {
		walk(stage.Next.Verdict)
	}
	return all
}

func describeDownstream(environment string, chain status.Chain) []string {
	var after []string
	for _, s := range chain.Stages {
		if slices.Contains(s.After, environment) {
			after = append(after, s.Environment)
		}
	}
	if after == nil {
		return nil
	}
	verb := "gets"
	if len(after) > 1 {
		verb = "get"
	}
	return []string{fmt.Sprintf("%s %s no commit that %s has not had.", text.Join(after, " and "), verb, environment)}
}

func nameCommit(chain status.Chain, commit string) string {
	c := chain.FindCommit(commit)
	if c.Subject == "" {
		return text.ShortCommit(commit)
	}
	return fmt.Sprintf("%s %q", text.ShortCommit(commit), c.Subject)
}

func firstLine(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return line
}

// addChoices adds the commits to roll back to; the default is the previous one.
func (o *Operator) addChoices(ctx context.Context, d *actions.Session, l *answer.Lever) {
	had, err := d.ListPrevious(ctx, l.Environment, maxChoices)
	if err != nil {
		l.Unknown = answer.CleanText(errors.Join(errors.New("what it had before is not known"), err).Error())
		return
	}
	for _, c := range had {
		if l.To == nil || c.ID != l.To.ID {
			known := answer.Commit{Commit: status.Commit{ID: c.ID, Subject: c.Subject(), Author: c.Author.Name, When: c.When}}
			l.Choices = append(l.Choices, answer.Choice{Commit: known, Evidence: c.Evidence})
		}
	}
}

// addNewer adds newer base commits if none is next.
func (o *Operator) addNewer(l *answer.Lever) {
	source := answer.Source{Snapshot: o.options.Store.Snapshot()}
	chain := source.Snapshot.Chain
	stage, _ := chain.FindStage(l.Environment)
	for _, c := range chain.Commits[:min(max(0, chain.IndexCommit(stage.Commit)), maxChoices)] {
		l.Choices = append(l.Choices, answer.Choice{Commit: *source.Commit(c.ID)})
		l.Hint = "choose one of the commits below"
	}
}

// IdleReason explains why an action would do nothing, as of the last cycle, or returns
// "".
func (o *Operator) IdleReason(lever, environment string) string {
	stage, promoted := o.options.Store.Snapshot().Chain.FindStage(environment)
	switch {
	case !promoted:
	case lever == Release && stage.Hold == "" && stage.Next.State != promote.Held:
		return environment + " is not held"
	case lever == Approve && stage.AsksNobody:
		return "no gate of " + environment + " asks for approvals"
	case (lever == Approve || lever == Promote) && stage.Commit != "" && stage.Behind == 0 && (stage.Next.Candidate == "" || stage.Next.Candidate == stage.Commit):
		return environment + " has the newest commit"
	case lever == Rollback && stage.HadNothingBefore():
		return environment + " had no other commit before"
	}
	return ""
}
