package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// The exit codes of all commands.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2 // called wrongly, or a name does not exist
	exitProblems    = 3
	exitDifferences = 4 // diff found differences, or version found a newer release
)

var (
	// errDiffers only sets the exit code.
	errDiffers     = errors.New("there are differences")
	errInterrupted = errors.New("interrupted")
	errUsage       = errors.New("called wrongly")
)

func usageErrorf(hint, format string, args ...any) error {
	return &problem.Refusal{Reason: fmt.Sprintf(format, args...), Advice: hint, Kind: errUsage}
}

func newUnknownError(kind, name string, known []string) error {
	if kind == "environment" && len(known) == 0 {
		return newNoEnvironmentsError("there is no environment " + name)
	}
	hint, kinds := problem.DidYouMean(name, known), kind+"s"
	if stem, isY := strings.CutSuffix(kind, "y"); isY {
		kinds = stem + "ies"
	}
	switch {
	case len(known) == 0:
		hint = "there are no " + kinds
	case hint == "":
		hint = "the " + kinds + " are " + text.Join(known, " and ")
	}
	return usageErrorf(hint, "there is no %s %s", kind, name)
}

func newUnknownStageError(chain status.Chain, name string) error {
	names := list.Convert(chain.Stages, func(s status.Stage) string { return s.Environment })
	return newUnknownError("environment", name, names)
}

func newNoEnvironmentsError(what string) error {
	return usageErrorf("a control plane has objects of kind Environment in .environments/ of its base; in another folder, name it with --control-plane",
		"%s: this control plane has none", what)
}

func newNoControlPlaneError(what string) error {
	return usageErrorf("fairlead init creates a control plane; run the command in a clone of one, or name it with --control-plane", "%s", what)
}

type problemsError struct {
	summary    string
	list       problem.List // not printed yet
	ofSettings bool
}

func (e *problemsError) Error() string { return e.summary }

func newProblemsError(list problem.List) *problemsError {
	return &problemsError{summary: "the control plane has " + display.CountProblems(list.Count()), list: list}
}

func exitCode(err error) int {
	var query *explain.QueryError
	var problems *problemsError
	var revision *source.UnknownRevisionError
	var ambiguous *git.AmbiguousError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDiffers):
		return exitDifferences
	case errors.As(err, &problems) && !problems.ofSettings:
		return exitProblems
	case problems != nil, errors.As(err, &query), errors.As(err, &revision), errors.As(err, &ambiguous), errors.Is(err, errUsage):
		return exitUsage
	}
	return exitFailed
}

func (a *app) reportError(err error) {
	if err == nil || errors.Is(err, errDiffers) {
		return
	}
	var problems *problemsError
	if errors.As(err, &problems) {
		for i := range problems.list {
			problems.list[i].Hint = a.adaptHint(problems.list[i].Hint)
		}
		shown, folded := display.FoldFollowUps(problems.list, func(p problem.Problem) bool { return p.Warning }, "", a.stderr)
		fmt.Fprint(a.stderr, display.FormatProblems(shown, a.stderr)+folded)
	}
	for line := range strings.Lines(err.Error()) { // joined errors
		fmt.Fprintf(a.stderr, "fairlead: %s%s\n", a.stderr.Paint(display.Red, "error: "), display.SanitizeLine(strings.TrimRight(line, "\n")))
	}
	if hint := a.adaptHint(findHint(err)); hint != "" {
		fmt.Fprintf(a.stderr, "fairlead: hint: %s\n", display.SanitizeLine(hint))
	}
}

// adaptHint replaces --map for commands without it, whose settings have the map.
func (a *app) adaptHint(hint string) string {
	if !a.hasNoMap {
		return hint
	}
	return strings.NewReplacer("--map URL=PATH", "map in fairlead.yaml", "--map", "map in fairlead.yaml").Replace(hint)
}

func findHint(err error) string {
	var query *explain.QueryError
	var hinted interface{ Hint() string }
	switch {
	case errors.As(err, &query):
		return query.Hint
	case git.DiskHint(err) != "":
		return git.DiskHint(err)
	case errors.Is(err, git.ErrNoKey):
		return "load your key into an agent (eval \"$(ssh-agent)\" && ssh-add), name one with remotes and ssh in the settings, or use the https URL with " + tokenVariable
	case errors.As(err, &hinted):
		return hinted.Hint()
	case errors.Is(err, git.ErrAccess):
		return accessHint()
	case errors.Is(err, git.ErrUnreachable):
		return "--map URL=PATH reads it elsewhere, such as in a clone"
	case errors.Is(err, git.ErrNoRevision):
		return "check the name, and that it was pushed"
	}
	return ""
}

// problemSet maps problems to environments; "" means all.
type problemSet map[problem.Problem][]string

func (f problemSet) add(environment string, list problem.List) {
	for _, p := range list {
		if !slices.Contains(f[p], environment) {
			f[p] = append(f[p], environment)
		}
	}
}

// addNew skips known problems: those of all environments are not repeated for one.
func (f problemSet) addNew(environment string, list problem.List) {
	for _, p := range list {
		if _, known := f[p]; !known {
			f[p] = []string{environment}
		}
	}
}

// ofEnvironment returns the problems of an environment, without those of all.
func (f problemSet) ofEnvironment(environment string) (found problem.List) {
	for p, environments := range f {
		if slices.Contains(environments, environment) {
			found = append(found, p)
		}
	}
	return found
}

func (f problemSet) list() problem.List { return slices.Collect(maps.Keys(f)) }
