package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// What a chain is inferred from where there is no Promotion.
const (
	InferredFromSettings = "nextEnvironment of the settings"
	InferredFromFiles    = "the order of the files in .environments"
)

// Chain is the environments in the order of their promotion: each follows those that it
// comes after.
type Chain struct {
	External bool
	Stages   []Stage
	// Inferred is what the chain was inferred from, InferredFromSettings or InferredFromFiles; "" if people have written it.
	Inferred string
}

// SortNames sorts names of environments in the order of promotion, and returns them; those that are not
// promoted come last.
func (c *Chain) SortNames(names []string) []string {
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(c.Rank(a), c.Rank(b)) })
	return names
}

// Stage returns the stage of an environment; nil if it is not promoted.
func (c *Chain) Stage(environment string) *Stage {
	for i := range c.Stages {
		if c.Stages[i].Name == environment {
			return &c.Stages[i]
		}
	}
	return nil
}

// Rank returns where an environment comes in the order of promotion; one that is not promoted
// comes after all that are.
func (c *Chain) Rank(environment string) int {
	i := slices.IndexFunc(c.Stages, func(s Stage) bool { return s.Name == environment })
	if i < 0 {
		return len(c.Stages)
	}
	return i
}

func environmentHint(name string, known []string) string {
	if near := problem.DidYouMean(name, known); near != "" || len(known) == 0 {
		return near
	}
	return "the environments are " + text.Join(known, " and ")
}

// stageHint returns what to do about a listed environment that is not there: the only one that is not
// listed is probably meant.
func stageHint(name string, known, listed []string) string {
	if near := problem.DidYouMean(name, known); near != "" || len(known) == 0 {
		return near
	}
	unlisted := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return slices.Contains(listed, name) })
	if len(unlisted) == 1 {
		return fmt.Sprintf("did you mean %q, which is not listed? Otherwise remove the entry", unlisted[0])
	}
	return environmentHint(name, known) + "; write one of them, or remove the entry"
}

// NewChain returns the chain of a control plane: that of its Promotion, or else that of next
// (Kalypso's NEXT_ENVIRONMENT: an environment, and the one after it), or else the order
// in which the environments are written. Problems mean that nothing may be promoted.
func NewChain(p *Progress, environments []*Environment, next map[string]string) (Chain, problem.List) {
	var problems problem.List
	known := make([]string, len(environments))
	for i, e := range slices.SortedFunc(slices.Values(environments), func(a, b *Environment) int { return a.Pos.Compare(b.Pos) }) {
		known[i] = e.Name
	}
	var c Chain
	switch {
	case len(p.Promotions) > 1:
		first := p.Promotions[0]
		for _, other := range p.Promotions[1:] {
			problems.Addf(other.Pos, other.Subject(), "put the environments of both into one", "there is another Promotion at %s", first.Pos)
		}
	case len(p.Promotions) == 1 && (p.Promotions[0].External || len(p.Promotions[0].Stages) > 0):
		c = Chain{External: p.Promotions[0].External, Stages: slices.Clone(p.Promotions[0].Stages)}
		problems = checkStages(p.Promotions[0], known)
	case len(next) > 0:
		c, problems = chainFromNext(next, known)
	default:
		c, problems = chainFromFiles(known)
	}
	problems = append(problems, CheckFreezes(p, environments)...)
	if problems.Stops() {
		return c, problems
	}
	c.Stages, problems = sortStages(c.Stages, problems)
	return c, problems
}

// CheckFreezes reports freezes of environments that do not exist: otherwise a misspelt freeze
// would be noticed only after a promotion that it should have stopped.
func CheckFreezes(p *Progress, environments []*Environment) problem.List {
	var known []string
	for _, e := range environments {
		known = append(known, e.Name)
	}
	var problems problem.List
	for _, f := range p.Freezes {
		for _, name := range f.Environments {
			if !slices.Contains(known, name) {
				problems.Addf(f.Pos, f.Subject(), environmentHint(name, known), "there is no environment %q to freeze", name)
			}
		}
	}
	return problems
}

func checkStages(p *Promotion, known []string) problem.List {
	var problems problem.List
	var names []string
	for _, s := range p.Stages {
		names = append(names, s.Name)
	}
	for i, s := range p.Stages {
		switch {
		case slices.Contains(names[:i], s.Name):
			problems.Addf(s.Pos, p.Subject(), "remove one of them", "environment %s is listed twice", s.Name)
		case !slices.Contains(known, s.Name):
			problems.Addf(s.Pos, p.Subject(), stageHint(s.Name, known, names), "there is no environment %s", s.Name)
		}
		for _, before := range s.After {
			if !slices.Contains(names, before) {
				problems.Addf(s.Pos, p.Subject(), problem.DidYouMean(before, names), "%s comes after %s, which is not in the list", s.Name, before)
			}
		}
	}
	for _, name := range known {
		if !slices.Contains(names, name) && !p.External {
			problems.Warnf(p.Pos, p.Subject(), "list it in the Promotion if commits should be promoted to it", "environment %s is not in the Promotion, so no commit is promoted to it", name)
		}
	}
	return problems
}

// chainFromNext returns the chain in which each environment comes after those that next maps to it.
func chainFromNext(next map[string]string, known []string) (Chain, problem.List) {
	var problems problem.List
	c := Chain{Inferred: InferredFromSettings}
	for _, from := range sortedKeys(next) {
		for _, name := range []string{from, next[from]} {
			if !slices.Contains(known, name) {
				problems.Addf(problem.Pos{File: "settings"}, "", environmentHint(name, known), "nextEnvironment names %s, which is no environment", name)
			}
		}
	}
	for _, name := range known {
		stage := Stage{Name: name, Queue: Queue{Policy: QueueLatest}}
		for _, from := range sortedKeys(next) {
			if next[from] == name {
				stage.After = append(stage.After, from)
			}
		}
		c.Stages = append(c.Stages, stage)
	}
	return c, problems
}

// lateNames and early begin the names of environments: a promotion from a late one to an early one
// is a mistake.
var (
	lateNames  = []string{"prod", "live"}
	earlyNames = []string{"dev", "test", "qa", "int", "stag", "stg", "uat", "preprod", "pre-prod", "canary"}
)

func chainFromFiles(known []string) (Chain, problem.List) {
	var problems problem.List
	c := Chain{Inferred: InferredFromFiles}
	for i, name := range known {
		stage := Stage{Name: name, Queue: Queue{Policy: QueueLatest}}
		if i > 0 {
			stage.After = []string{known[i-1]}
			if looksLike(known[i-1], lateNames) && looksLike(name, earlyNames) {
				problems.Addf(problem.Pos{Layer: "base", File: ".environments"}, "",
					"write an object of kind Promotion (fairlead schema Promotion), or nextEnvironment in the settings",
					"in the order of the files, %s would get commits before %s", known[i-1], name)
			}
		}
		c.Stages = append(c.Stages, stage)
	}
	return c, problems
}

func looksLike(name string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(strings.ToLower(name), part) })
}

// sortStages sorts each stage behind those that it comes after, and otherwise keeps their order.
func sortStages(stages []Stage, problems problem.List) ([]Stage, problem.List) {
	var sorted []Stage
	left := slices.Clone(stages)
	placed := func(name string) bool {
		return slices.ContainsFunc(sorted, func(s Stage) bool { return s.Name == name })
	}
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(s Stage) bool {
			return !slices.ContainsFunc(s.After, func(before string) bool { return !placed(before) })
		})
		if i < 0 {
			problems.Addf(left[0].Pos, "", "remove an environment from the after list of another one", "the order of promotion is circular: %s", findCircle(left))
			return stages, problems
		}
		sorted = append(sorted, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return sorted, problems
}

// findCircle returns the names of the stages of a circle. Each stage that is left comes after
// another one that is left.
func findCircle(left []Stage) string {
	byName := map[string]Stage{}
	for _, s := range left {
		byName[s.Name] = s
	}
	var path []string
	at := left[0].Name
	for !slices.Contains(path, at) {
		path = append(path, at)
		at = byName[at].After[slices.IndexFunc(byName[at].After, func(name string) bool { _, ok := byName[name]; return ok })]
	}
	path = append(path[slices.Index(path, at):], at)
	return strings.Join(path, " after ")
}
