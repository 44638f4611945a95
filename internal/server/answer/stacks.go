package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// Stacks is the answer of /api/v1/stacks.
type Stacks struct {
	Ledger bool `json:"ledger"`
	// Unknown are the environments whose stacks are not known.
	Unknown []string `json:"unknown,omitempty"`
	// Total counts all stacks, and Found those that were asked for, of which Items has one page.
	Total int         `json:"total"`
	Found int         `json:"found"`
	Page  int         `json:"page"`
	Items []StackPart `json:"items"`
}

// StackPart is what a list says of a stack.
type StackPart struct {
	Environment string `json:"environment"`
	Stack       string `json:"stack"` // "team/environment"
	State       State  `json:"state"`
	// Status is what clusters report of its components, in few words; "" if there is no ledger.
	Status string `json:"status,omitempty"`
	// Reason is what a person has to do about it, or what it waits for, in one sentence.
	Reason string `json:"reason,omitempty"`
	// Since is since when it is in that state: all components, where it is good, and else the first one; zero if clusters do
	// not say so.
	Since      time.Time `json:"since,omitzero"`
	Components int       `json:"components"`
	// Plans is how many components have a plan to apply that is known, and Planned what these do together.
	Plans   int            `json:"plans,omitempty"`
	Planned *tfplan.Counts `json:"planned,omitempty"`
	// Waiting are the components whose plans wait for a person, and Drifted those that differ from what was
	// applied.
	Waiting []string `json:"waiting,omitempty"`
	Drifted []string `json:"drifted,omitempty"`
	// Teardown reports that all of it is destroyed.
	Teardown bool `json:"teardown"`
	// Blueprint is the one that it takes, if that names the stack that is active, as Active says of this one.
	Blueprint string `json:"blueprint,omitempty"`
	Active    bool   `json:"active,omitempty"`
	// Pull is the open pull request that changes it; nil if none does.
	Pull *status.Pull `json:"pull,omitempty"`
	// PlanPull is the open pull request of the control plane that asks for another plan after drift; nil for none.
	PlanPull *status.Pull `json:"planPull,omitempty"`
}

// Stack is the answer of /api/v1/stacks/{team}/{stack}.
type Stack struct {
	StackPart
	Ledger    bool   `json:"ledger"`
	Namespace string `json:"namespace,omitempty"`
	// Place is where it is written, "" if it has no file any more, and URL its page at the forge.
	Place string           `json:"place,omitempty"`
	URL   string           `json:"url,omitempty"`
	Parts []StackComponent `json:"parts"` // in an order in which they can be made
	// Runs is what is known of the plans of its components and of what became of them, the newest first.
	Runs []RunEntry `json:"runs,omitempty"`
	// Proposed is what the pull request does with components.
	Proposed []impact.ComponentChange `json:"proposed,omitempty"`
	// Problems are those that stop it.
	Problems []Problem `json:"problems,omitempty"`
	// Elsewhere are the other environments that have a stack of this name.
	Elsewhere []string `json:"elsewhere,omitempty"`
	// Colors are the stacks of its environment that take its blueprint, itself too, if that names the active one.
	Colors []StackColor `json:"colors,omitempty"`
}

// StackColor is a stack of several that take one blueprint, of which one is active.
type StackColor struct {
	Stack  string `json:"stack"` // "team/environment"
	Active bool   `json:"active"`
}

// StackComponent is a component of a stack, with what clusters report of it.
type StackComponent struct {
	stackfiles.ComponentSummary
	// State is nil if there is no ledger.
	State *State `json:"state,omitempty"`
	// Reported is nil if no cluster reports the component.
	Reported *stackview.Status `json:"reported,omitempty"`
	// WaitsFor are the components before it that are not ready.
	WaitsFor []string `json:"waitsFor,omitempty"`
	// MayApprove reports whether a person may approve its plan.
	MayApprove bool `json:"mayApprove,omitempty"`
	// Run is the plan that it has yet to apply; nil if its cluster has not sent it.
	Run *RunPart `json:"run,omitempty"`
}

// StackTotals sums up the stacks of an environment.
type StackTotals struct {
	Stacks int `json:"stacks,omitempty"`
	// PlansToApply is how many components have a plan to apply that is known, and Planned what these do together.
	PlansToApply int            `json:"plansToApply,omitempty"`
	Planned      *tfplan.Counts `json:"planned,omitempty"`
}

func sumStacks(s Source, environment string) StackTotals {
	totals := StackTotals{Stacks: len(s.Snapshot.Stacks[environment])}
	var sum tfplan.Counts
	for _, k := range s.Snapshot.Stacks[environment] {
		part, _ := s.describeStack(k)
		if part.Planned != nil {
			sum.AddCounts(*part.Planned)
			totals.PlansToApply, totals.Planned = totals.PlansToApply+part.Plans, &sum
		}
	}
	return totals
}

// StackFilter selects stacks by a text in the name, an environment and the tone or the word of the state; "" is any.
type StackFilter struct {
	Text, Environment, State string
	Page                     int
}

// StackObject identifies the objects of a component among those of all environments.
type StackObject struct{ Environment, Namespace, Name string }

// ListStackObjects returns what identifies the objects of all components, and what they are objects of.
func (s Source) ListStackObjects() map[StackObject]bool {
	all := map[StackObject]bool{}
	for environment, stacks := range s.Snapshot.Stacks {
		for _, k := range stacks {
			for _, c := range k.Components {
				all[StackObject{environment, k.Namespace, c.Object}] = true
			}
		}
	}
	return all
}

// statusTones are how much the statuses of components ask of people.
var statusTones = map[string]Tone{
	stackview.Failed: Bad, stackview.Differs: Bad, stackview.Drifted: Bad, stackview.Waits: Waiting, stackview.Unknown: Unknown, stackview.NotReported: Unknown,
	stackview.Progressing: Busy, stackview.Behind: Busy, stackview.Suspended: Stopped, stackview.Ready: Good, stackview.Destroyed: Good,
}

// StackWords returns the words of the states that stacks may have.
func StackWords() []string {
	return append(stackview.AllStatuses(), stackview.NotReported, stackStopped, stackNotMerged, stackNotKnown)
}

// The states of stacks that no component has.
const (
	stackStopped   = "stopped"
	stackNotMerged = "not merged"
	stackNotKnown  = "not known"
)

// visitStacks calls visit with each stack, by environment in the order of promotion, and by name.
func (s Source) visitStacks(visit func(k stackview.Known)) {
	for _, environment := range s.Names() {
		for _, k := range s.Snapshot.Stacks[environment] {
			visit(k)
		}
	}
}

// Stacks returns the stacks of all environments, the most urgent first.
func (s Source) Stacks(f StackFilter) Stacks {
	answer := Stacks{Ledger: s.StackReports != nil, Items: []StackPart{}}
	for _, name := range s.Names() {
		if _, known := s.Snapshot.Stacks[name]; !known && (f.Environment == "" || f.Environment == name) {
			answer.Unknown = append(answer.Unknown, name)
		}
	}
	s.visitStacks(func(k stackview.Known) {
		answer.Total++
		part, _ := s.describeStack(k)
		if (f.Environment == "" || f.Environment == k.Environment) && part.State.matches(f.State) && strings.Contains(strings.ToLower(part.Stack), strings.ToLower(f.Text)) {
			answer.Items = append(answer.Items, part)
		}
	})
	slices.SortStableFunc(answer.Items, func(a, b StackPart) int {
		return cmp.Compare(slices.Index(AllTones(), b.State.Tone), slices.Index(AllTones(), a.State.Tone))
	})
	answer.Found = len(answer.Items)
	answer.Items, answer.Page = pageOf(answer.Items, f.Page, ListRows)
	return answer
}

// Stack returns what is known of a stack in an environment, and whether there is one.
func (s Source) Stack(environment, name string) (found Stack, ok bool) {
	colors := map[string][]StackColor{}
	s.visitStacks(func(k stackview.Known) {
		if k.Environment == environment && k.Blueprint != "" {
			colors[k.Blueprint] = append(colors[k.Blueprint], StackColor{k.Summary.Stack, k.Active})
		}
		switch {
		case k.Summary.Stack != name:
		case k.Environment != environment:
			found.Elsewhere = append(found.Elsewhere, k.Environment)
		default:
			found.StackPart, found.Parts = s.describeStack(k)
			found.Runs = s.listRuns(k)
			found.Ledger, found.Namespace, ok = s.StackReports != nil, k.Namespace, true
			if k.Written.File != "" {
				found.Place, found.URL = k.Written.String(), s.findPlacePage(environment, k.Written)
			}
			for _, p := range k.Problems {
				found.Problems = append(found.Problems, s.describeProblem(p, []string{environment}, s.listInputs()))
			}
			found.Proposed = s.findProposed(environment, name)
		}
	})
	found.Colors = colors[found.Blueprint]
	return found, ok
}

func (s Source) findProposed(environment, name string) (all []impact.ComponentChange) {
	e, _ := s.Snapshot.FindEnvironment(environment)
	if e.State == status.InSync || e.Proposed == nil {
		return nil
	}
	for _, change := range e.Proposed.StackChanges {
		for _, c := range change.Components {
			if change.Stack == name && c.Change != "" {
				all = append(all, c)
			}
		}
	}
	return all
}

// FindStackEnvironments returns the environments that have a stack of a name, "team/environment".
func (s Source) FindStackEnvironments(name string) (all []string) {
	s.visitStacks(func(k stackview.Known) {
		if k.Summary.Stack == name {
			all = append(all, k.Environment)
		}
	})
	return all
}

// StackNames returns the names of all stacks, each once.
func (s Source) StackNames() (names []string) {
	s.visitStacks(func(k stackview.Known) { names = append(names, k.Summary.Stack) })
	slices.Sort(names)
	return slices.Compact(names)
}

func (s Source) describeStack(k stackview.Known) (StackPart, []StackComponent) {
	part := StackPart{Environment: k.Environment, Stack: k.Summary.Stack, Components: len(k.Components), Teardown: k.Teardown, Blueprint: k.Blueprint, Active: k.Active}
	if e, _ := s.Snapshot.FindEnvironment(k.Environment); e.State != status.InSync && (!k.Merged && k.Stopped == "" || k.Leaves || len(s.findProposed(k.Environment, part.Stack)) > 0) {
		part.Pull = e.Pull
	}
	components := s.describeComponents(k)
	byStatus := map[string][]StackComponent{}
	for _, c := range components {
		if c.State != nil {
			byStatus[c.State.Word] = append(byStatus[c.State.Word], c)
		}
		if c.Run != nil {
			if part.Planned == nil {
				part.Planned = &tfplan.Counts{}
			}
			part.Plans++
			part.Planned.AddCounts(c.Run.Counts)
		}
	}
	name := func(c StackComponent) string { return c.Name }
	part.Waiting, part.Drifted = list.Convert(byStatus[stackview.Waits], name), list.Convert(byStatus[stackview.Drifted], name)
	if s.StackReports != nil && k.Merged {
		part.Status = stackview.SummarizeStatuses(list.Convert(components, func(c StackComponent) string { return c.State.Word }))
	}
	part.State, part.Reason = judgeStack(k, byStatus)
	if e, _ := s.Snapshot.FindEnvironment(k.Environment); part.State.Word == stackview.Drifted {
		part.PlanPull = e.PlanPulls[part.Stack+" "+part.Drifted[0]]
	}
	if part.PlanPull != nil {
		part.Reason += fmt.Sprintf("; merge pull request %d of the control plane for another plan", part.PlanPull.Number)
	}
	part.Since = findSince(part.State, components)
	return part, components
}

// findSince returns since when a stack is in a state: since its last component is, where it needs all of them, and else since
// the first one.
func findSince(state State, components []StackComponent) (since time.Time) {
	for _, c := range components {
		switch {
		case c.Reported == nil:
		case state.Tone == Good && c.Reported.Since.After(since):
			since = c.Reported.Since
		case state.Tone != Good && c.Reported.Status == state.Word && (since.IsZero() || c.Reported.Since.Before(since)):
			since = c.Reported.Since
		}
	}
	return since
}

func (s Source) describeComponents(k stackview.Known) []StackComponent {
	all, isDone := []StackComponent{}, map[string]bool{}
	for _, c := range k.Components {
		one := StackComponent{ComponentSummary: c}
		if s.StackReports != nil && k.Merged {
			found := stackview.FindStatus(c, s.StackReports[StackObject{k.Environment, k.Namespace, c.Object}])
			word := cmp.Or(found.Status, stackview.NotReported)
			one.State = &State{statusTones[word], word}
			if found.Status != "" {
				found.Message = CleanText(found.Message)
				one.Reported = &found
			}
			isDone[c.Name] = found.Status == stackview.Ready || found.Status == stackview.Destroyed && c.Action == stackfiles.Destroy
		}
		one.MayApprove = k.Merged && k.Stopped == "" && c.Plan != "" && c.Approval == "" && c.Action != stackfiles.Suspend && (c.Compared || !c.Unversioned) && !isDone[c.Name]
		one.Run = s.findRun(k, one)
		all = append(all, one)
	}
	for i, c := range all {
		if c.State == nil || !slices.Contains([]string{stackview.NotReported, stackview.Unknown, stackview.Progressing, stackview.Behind}, c.State.Word) {
			continue
		}
		for _, before := range c.After {
			if !isDone[before] {
				all[i].WaitsFor = append(all[i].WaitsFor, before)
			}
		}
	}
	return all
}

func judgeStack(k stackview.Known, byStatus map[string][]StackComponent) (State, string) {
	switch {
	case k.Stopped != "":
		return State{Bad, stackStopped}, "fix: " + k.Stopped
	case !k.Merged:
		return State{Waiting, stackNotMerged}, "no cluster has it until the change of " + k.Environment + " is merged"
	case len(byStatus) == 0:
		return State{Unknown, stackNotKnown}, ""
	}
	words := stackview.AllStatuses()
	for _, word := range slices.Insert(words, slices.Index(words, stackview.Unknown)+1, stackview.NotReported) {
		all := byStatus[word]
		if len(all) == 0 {
			continue
		}
		return State{statusTones[word], word}, describeStatus(word, all)
	}
	return State{Unknown, stackNotKnown}, ""
}

// describeStatus returns what a person has to do about components that have a status, or what they wait for.
func describeStatus(word string, all []StackComponent) string {
	names := list.Convert(all, func(c StackComponent) string { return c.Name })
	more := ""
	if len(all) > 1 {
		more = fmt.Sprintf("; and so %s", text.Join(names[1:], " and "))
	}
	message := ""
	if all[0].Reported != nil {
		message = all[0].Reported.Message
	}
	switch word {
	case stackview.Waits:
		if len(all) == 1 {
			return "the plan of " + names[0] + " waits for approval"
		}
		return "the plans of " + text.Join(names, " and ") + " wait for approval"
	case stackview.Drifted:
		return names[0] + " has drifted: " + message + more
	case stackview.Differs, stackview.Failed:
		return names[0] + ": " + cmp.Or(message, word) + more
	}
	return ""
}

// stackNeeds returns the stacks that stay as they are until a person acts, which ask for as much as tone says.
func (s Source) stackNeeds(tone Tone) (needs []Need) {
	s.visitStacks(func(k stackview.Known) {
		part, components := s.describeStack(k)
		waits := slices.DeleteFunc(components, func(c StackComponent) bool { return !slices.Contains(part.Waiting, c.Name) })
		n := Need{State: part.State, Environment: k.Environment, Stack: part.Stack, Reason: part.Stack + ": " + part.Reason}
		switch {
		case tone == Bad && part.State.Tone == Bad:
		case tone == Waiting && len(waits) > 0:
			n.State, n.Reason = State{Waiting, stackview.Waits}, part.Stack+": "+describeStatus(stackview.Waits, waits)
			if slices.ContainsFunc(waits, func(c StackComponent) bool { return c.MayApprove }) {
				n.Levers = []string{"approve-plan"}
			}
			if len(waits) == 1 && waits[0].MayApprove {
				n.Component, n.Inputs = waits[0].Name, waits[0].Inputs
			}
		default:
			return
		}
		needs = append(needs, n)
	})
	return needs
}
