package answer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// The kinds of problems, by falling urgency.
const (
	Mistake  = "mistake" // in what people wrote; it stops an environment
	Failure  = "error"   // an operation failed, and is tried again
	Report   = "report"  // a cluster, or a verification, reports a failure
	Declined = "stopped" // a person has stopped it
	Warning  = "warning" // probably a mistake; it stops nothing
)

// ProblemKinds returns all kinds, by falling urgency.
func ProblemKinds() []string { return []string{Mistake, Failure, Report, Declined, Warning} }

// Problems is the answer of /api/v1/problems.
type Problems struct {
	// Total is how many there are, and Counts of each kind, whatever is asked for.
	Total  int            `json:"total"`
	Counts map[string]int `json:"counts"`
	// Found is how many were asked for, of which Items has one page.
	Found    int              `json:"found"`
	Page     int              `json:"page"`
	Items    []Problem        `json:"items"`
	Resolved ResolvedProblems `json:"resolved"`
}

// Problem is one thing that is wrong, in all environments that have it.
type Problem struct {
	Kind         string   `json:"kind"`
	Environments []string `json:"environments"`
	// Place is "layer/file:line", and URL its page at the forge.
	Place   string       `json:"place,omitempty"`
	URL     string       `json:"url,omitempty"`
	Subject string       `json:"subject,omitempty"` // the object, as "Kind/name"
	Summary string       `json:"summary"`
	Hint    string       `json:"hint,omitempty"`
	Since   time.Time    `json:"since,omitzero"`
	Pull    *status.Pull `json:"pull,omitempty"`
	// Cluster is the one that reports it; "" if none does by its name. Commit is the one that the environment has
	// that reports it.
	Cluster string  `json:"cluster,omitempty"`
	Commit  *Commit `json:"commit,omitempty"`
	// Others are the other places of the same mistake.
	Others []ProblemPlace `json:"others,omitempty"`
	isHold bool
}

// ProblemPlace is one of several places of a problem.
type ProblemPlace struct {
	Place        string   `json:"place,omitempty"`
	URL          string   `json:"url,omitempty"`
	Subject      string   `json:"subject,omitempty"`
	Environments []string `json:"environments"`
}

// CountUrgent returns how much is wrong that stays so until somebody acts: warnings are no hurry, and who
// holds an environment knows.
func (s Source) CountUrgent() (n int) {
	for _, p := range s.listProblems() {
		if p.Kind != Warning && !p.isHold {
			n++
		}
	}
	return n
}

// ProblemFilter selects problems; "" is any. Pages are counted from 1.
type ProblemFilter struct {
	Environment, Kind, Text string
	Page                    int
}

func (s Source) listProblems() []Problem {
	all := append(s.findMistakes(), s.findFailures()...)
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Compare(slices.Index(ProblemKinds(), a.Kind), slices.Index(ProblemKinds(), b.Kind))
	})
	return all
}

// Problems returns a page of what is wrong, the most urgent first.
func (s Source) Problems(f ProblemFilter) Problems {
	all := s.listProblems()
	answer := Problems{Total: len(all), Counts: map[string]int{}, Items: []Problem{}}
	for _, p := range all {
		answer.Counts[p.Kind]++
		if f.selects(p) {
			answer.Items = append(answer.Items, p)
		}
	}
	answer.Found = len(answer.Items)
	answer.Items, answer.Page = pageOf(answer.Items, f.Page, ListRows)
	answer.Resolved = s.findResolved(f)
	return answer
}

func (f ProblemFilter) selects(p Problem) bool {
	words := []string{p.Place, p.Subject, p.Summary, p.Hint, strings.Join(p.Environments, " ")}
	for _, other := range p.Others {
		words = append(words, other.Place, other.Subject)
	}
	text := strings.ToLower(strings.Join(words, " "))
	return (f.Environment == "" || len(p.Environments) == 0 || slices.Contains(p.Environments, f.Environment)) &&
		(f.Kind == "" || f.Kind == p.Kind) && strings.Contains(text, strings.ToLower(f.Text))
}

func (s Source) findMistakes() []Problem {
	found := []environmentProblems{{problems: s.Snapshot.Chain.Problems}}
	for _, e := range s.Snapshot.Environments {
		found = append(found, environmentProblems{e.Name, e.ShownProblems()})
	}
	return s.shareProblems(found, s.listInputs(), s.Snapshot.FoundSince)
}

func (s Source) listInputs() (all []status.Input) {
	for _, e := range s.Snapshot.Environments {
		all = append(all, e.Inputs...)
	}
	return all
}

// environmentProblems are problems of an environment; "" is the order of promotion.
type environmentProblems struct {
	environment string
	problems    problem.List
}

// shareProblems returns the problems of environments that are made of inputs, each once, since the first of them has it.
func (s Source) shareProblems(found []environmentProblems, inputs []status.Input, since func(environment string, p problem.Problem) time.Time) []Problem {
	var shared problem.Sharing
	for _, one := range found {
		shared.Add(one.environment, one.problems)
	}
	var all []Problem
	for _, one := range shared.Sorted() {
		names := slices.DeleteFunc(slices.Clone(one.Environments), func(name string) bool { return name == "" })
		p := s.describeProblem(one.Problem, names, inputs)
		for _, name := range one.Environments {
			p.Since = earliest(p.Since, since(name, one.Problem))
		}
		all = append(all, p)
	}
	return groupPlaces(all)
}

// earliest returns the earlier one of two times; zero is not known.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// groupPlaces returns mistakes of which each says something else: what is wrong in the same way in several places is
// one mistake.
func groupPlaces(all []Problem) (grouped []Problem) {
	first := map[[3]string]int{}
	for _, p := range all {
		key := [3]string{p.Kind, p.Summary, p.Hint}
		i, known := first[key]
		if !known {
			first[key] = len(grouped)
			grouped = append(grouped, p)
			continue
		}
		one := &grouped[i]
		one.Others = append(one.Others, ProblemPlace{p.Place, p.URL, p.Subject, p.Environments})
		for _, name := range p.Environments {
			one.Environments = list.AddMissing(one.Environments, name)
		}
		one.Since = earliest(one.Since, p.Since)
	}
	return grouped
}

// describeProblem returns a problem with its place at the forge, in the first commit of its repository among inputs.
func (s Source) describeProblem(p problem.Problem, environments []string, inputs []status.Input) Problem {
	shown := Problem{Kind: Mistake, Environments: append([]string{}, environments...), Place: p.Pos.String(), Subject: p.Subject, Summary: p.Summary, Hint: p.Hint}
	if p.Warning {
		shown.Kind = Warning
	}
	for _, in := range inputs {
		if in.Layer == p.Pos.Layer && shown.URL == "" {
			shown.URL = giturl.FilePage(s.repoOf(in), in.Commit, p.Pos.File, p.Pos.Line)
		}
	}
	return shown
}

func (s Source) hasFailedCluster(environment string) bool {
	return slices.ContainsFunc(s.Clusters, func(o fleetview.Overview) bool {
		return o.Environment == environment && slices.ContainsFunc(o.Laggards.Items, isFailed)
	})
}

func isFailed(l fleetview.Laggard) bool { return l.Standing == ledger.ClassFailed.String() }

// PromotionError is the error that keeps all commits from an environment.
type PromotionError struct{ Environment, Reason string }

// PromotionErrors returns the environments that get no commit because of an error, such as one of a forge.
func (s Status) PromotionErrors() (all []PromotionError) {
	for _, stage := range s.Chain.Stages {
		if why := stage.Next.Error; why != "" {
			all = append(all, PromotionError{stage.Environment, why})
		}
	}
	return all
}

// rollbackHint returns how an environment gets what it had before what fails; "" if it is not promoted to, or had
// nothing before.
func (s Source) rollbackHint(e Environment) string {
	stage, _ := s.Snapshot.Chain.FindStage(e.Name)
	if !e.Promoted || e.State.Tone != Bad || stage.HadNothingBefore() {
		return ""
	}
	return "fairlead rollback " + e.Name + " --reason TEXT: it gets what it had before"
}

// driftHint is how a component that has drifted gets another plan.
const driftHint = "merge the pull request of the control plane that asks for another plan, and approve the plan"

func (s Source) findFailedClusters(environments []Environment) (all []Problem) {
	for _, o := range s.Clusters {
		i := slices.IndexFunc(environments, func(e Environment) bool { return e.Name == o.Environment })
		for _, l := range o.Laggards.Items {
			if !isFailed(l) {
				continue
			}
			one := Problem{Kind: Report, Environments: []string{o.Environment}, Subject: l.Cluster, Cluster: l.Cluster, Summary: l.Why, Since: l.Since}
			if i >= 0 {
				one.Commit, one.Hint = environments[i].Commit, s.rollbackHint(environments[i])
			}
			if l.Cause == ledger.CauseDrift.String() {
				one.Hint = driftHint
			}
			all = append(all, one)
		}
	}
	return all
}

func (s Source) waitsForFreeze(e Environment) bool {
	stage, _ := s.Snapshot.Chain.FindStage(e.Name)
	return stage.WaitsForFreeze()
}

func (s Source) findFailures() []Problem {
	var all []Problem
	environments := s.listEnvironments()
	for _, e := range environments {
		report, _ := s.Snapshot.FindEnvironment(e.Name)
		one := Problem{Environments: []string{e.Name}, Summary: e.Reason, Since: e.Since, Pull: e.Pull}
		switch {
		case report.State == status.Failed, report.Error != "" && report.State != status.Problems:
			one.Kind, one.Summary, one.Since = Failure, cmp.Or(report.Error, report.Reason), report.Since
		case e.isFrozen() && !s.waitsForFreeze(e): // nothing is stopped
			continue
		case e.State.Tone == Stopped:
			one.Kind, one.isHold = Declined, e.isHeld() || e.isFrozen()
			if one.isHold { // since when is in the history: the environment has its commit for longer
				one.Since = time.Time{}
			}
		case e.State.Tone == Bad && report.State != status.Problems && !s.hasFailedCluster(e.Name): // which say it themselves
			one.Kind, one.Commit, one.Hint = Report, e.Commit, s.rollbackHint(e)
		default:
			continue
		}
		all = append(all, one)
	}
	for _, stage := range s.Snapshot.Chain.Stages {
		if why := stage.Next.Error; why != "" {
			all = append(all, Problem{Kind: Failure, Environments: []string{stage.Environment}, Summary: "no commit is promoted: " + why})
		}
	}
	all = append(all, s.findFailedClusters(environments)...)
	for _, r := range s.Snapshot.Remotes {
		if r.Error != "" {
			all = append(all, Problem{Kind: Failure, Environments: []string{}, Place: r.URL, Summary: r.Error, Since: r.Since})
		}
	}
	return all
}
