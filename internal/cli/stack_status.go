package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func (cc *commandContext) addReportFlags(c *cobra.Command) {
	c.Flags().StringVar(&cc.daemonURL, "url", "", "ask the daemon whose page is at this `URL` for the status (default: listen of the settings)")
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+", if it is there)")
}

// componentKey identifies a component among those of all environments.
type componentKey struct{ environment, namespace, object string }

func (e environmentStack) key(c stackfiles.ComponentSummary) componentKey {
	return componentKey{e.Environment, e.Namespace, c.Object}
}

// componentStatuses are what clusters report of components; nil if there is no ledger to ask.
type componentStatuses map[componentKey]stackview.Status

// readStatuses returns what clusters report of the components of stacks; nil without settings that have
// a ledger, and without --url.
func (cc *commandContext) readStatuses(ctx context.Context, stacks []environmentStack) (componentStatuses, error) {
	isNamed := cc.daemonURL != "" || cc.settingsFile != ""
	if err := cc.readSettings(); err != nil {
		return nil, err
	}
	if !isNamed && (cc.settings == nil || !cc.settings.HasLedger()) {
		return nil, nil
	}
	of, err := cc.openFleet(ctx)
	if err != nil && isNamed {
		return nil, err
	}
	if err != nil {
		fmt.Fprintf(cc.app.stderr, "fairlead: note: there is no status: %v\n", err)
		return nil, nil
	}
	defer of.Close()
	reports, err := askPlacements(ctx, of, stacks)
	if err != nil {
		return nil, err
	}
	all := componentStatuses{}
	for _, stack := range stacks {
		for _, c := range stack.Components {
			all[stack.key(c)] = stackview.FindStatus(c, reports[stack.key(c)])
		}
	}
	return all, nil
}

// readStackStatuses is readStatuses for stacks as the control plane has them: what is ready is destroyed only if the
// output has clusters destroy it.
func (s *stackCommand) readStackStatuses(ctx context.Context, stacks []environmentStack) (componentStatuses, error) {
	all, err := s.readStatuses(ctx, stacks)
	if err != nil {
		return nil, err
	}
	for _, stack := range stacks {
		isDestroyed := func(c stackfiles.ComponentSummary) bool { return all[stack.key(c)].Status == stackview.Destroyed }
		if stack.output == nil || !slices.ContainsFunc(stack.Components, isDestroyed) {
			continue
		}
		destroys, err := s.findDestroyed(ctx, stack)
		word := stackview.Ready
		if err != nil {
			fmt.Fprintf(s.app.stderr, "fairlead: note: whether %s is destroyed is not known, because the output cannot be read: %s\n", stack.Summary.Stack, display.SanitizeLine(err.Error()))
			word = stackview.Unknown
		}
		for _, c := range stack.Components {
			if isDestroyed(c) && !destroys[c.Object] {
				status := all[stack.key(c)]
				status.Status = word
				all[stack.key(c)] = status
			}
		}
	}
	return all, nil
}

func (s *stackCommand) findDestroyed(ctx context.Context, of environmentStack) (map[string]bool, error) {
	out, err := s.fetchOutput(ctx, &s.input, of.output)
	if err != nil || out == nil || out.head == "" {
		return nil, err
	}
	stacks, err := out.summarizeStacks()
	destroys := map[string]bool{}
	for _, one := range stacks {
		for _, c := range one.Components {
			destroys[c.Object] = destroys[c.Object] || one.Stack == of.Summary.Stack && c.Action == stackfiles.Destroy
		}
	}
	return destroys, err
}

// askPlacements returns what clusters report of the objects of all components, in one question: so much
// names some four hundred of them, and what is more is asked in another one.
func askPlacements(ctx context.Context, of fleetAsker, stacks []environmentStack) (map[componentKey][]stackview.Report, error) {
	var questions []string
	asked := map[string]bool{}
	for _, stack := range stacks {
		for _, c := range stack.Components {
			last := len(questions) - 1
			switch {
			case asked[c.Object]:
			case last < 0 || len(questions[last])+1+len(c.Object) > fleetview.MaxWorkloads:
				questions = append(questions, c.Object)
			default:
				questions[last] += "," + c.Object
			}
			asked[c.Object] = true
		}
	}
	all := map[componentKey][]stackview.Report{}
	for _, names := range questions {
		reports, err := askAll[fleetview.Placement](ctx, of, "where", newValues("workload", names))
		if errors.Is(err, errUsage) { // no cluster has named any of the objects
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, p := range reports {
			parts := strings.Split(p.Object, "/")
			if len(parts) == 3 {
				key := componentKey{p.Environment, parts[1], parts[2]}
				all[key] = append(all[key], stackview.Report{Cluster: p.Cluster, Object: p.Object, Phase: p.Phase, Revision: p.Revision, Since: p.Since, Message: p.Message, Plan: p.Plan})
			}
		}
	}
	return all, nil
}

func (s componentStatuses) summarize(stacks ...environmentStack) string {
	var all []string
	for _, stack := range stacks {
		all = append(all, list.Convert(stack.Components, func(c stackfiles.ComponentSummary) string { return s[stack.key(c)].Status })...)
	}
	return stackview.SummarizeStatuses(all)
}

// shownStack is a stack as programs get it, with what clusters report.
type shownStack struct {
	Environment string `json:"environment"`
	Stack       string `json:"stack"`
	Namespace   string `json:"namespace"`
	Teardown    bool   `json:"teardown"`
	Blueprint   string `json:"blueprint,omitempty"` // if that names the stack that is active
	Active      bool   `json:"active,omitempty"`

	Planned    *tfplan.Counts   `json:"planned,omitempty"` // of all components
	Components []shownComponent `json:"components"`
}

type shownComponent struct {
	stackfiles.ComponentSummary
	// Planned is what the plan does that it has yet to apply; nil if the daemon has no such plan.
	Planned  *tfplan.Counts    `json:"planned,omitempty"`
	Reported *stackview.Status `json:"reported,omitempty"` // nil if no cluster reports it, or there is no ledger to ask
}

// sentPlans are the plans that a stack has yet to apply, as clusters sent them.
type sentPlans []struct {
	Name, Plan, Inputs string
	Run                *tfplan.Counts // nil if no such plan was sent
}

// readSentPlans returns nil if the daemon does not know the stack, or there is no daemon.
func readSentPlans(ctx context.Context, cc *commandContext, environment, stack string) (sentPlans, error) {
	daemon, absence, err := cc.findFleetDaemon(ctx)
	if err != nil || absence != "" {
		return nil, err
	}
	var found struct{ Parts sentPlans }
	address := daemon.pageURL() + "api/v1/stacks/" + stack + "?" + newValues("env", environment).Encode()
	code, err := daemon.fetch(ctx, address, func(code int) any {
		if code == http.StatusOK {
			return &found
		}
		return nil
	})
	if code == http.StatusNotFound { // it has not rendered the stack yet
		return nil, nil
	}
	if err == nil && code != http.StatusOK {
		err = daemon.newAnswerError(address, code)
	}
	return found.Parts, err
}

// selectPlans returns what the plans of components do, nil for each that was not sent, and the sum of them, nil for none.
func (s sentPlans) selectPlans(components []stackfiles.ComponentSummary) (each []*tfplan.Counts, sum *tfplan.Counts) {
	for _, c := range components {
		var one *tfplan.Counts
		for _, p := range s {
			if p.Name == c.Name && p.Plan == c.Plan && p.Inputs == c.Inputs && p.Run != nil {
				one = p.Run
				if sum == nil {
					sum = &tfplan.Counts{}
				}
				sum.AddCounts(*one)
			}
		}
		each = append(each, one)
	}
	return each, sum
}

// addPlanned adds the column of what plans do, and their sum, to a table of components.
func (l *listing) addPlanned(each []*tfplan.Counts, sum *tfplan.Counts) {
	if sum == nil {
		return
	}
	l.columns = append(l.columns, column{key: "planned"})
	for i, c := range each {
		planned := ""
		if c != nil {
			planned = c.Summary()
		}
		l.rows[i] = append(l.rows[i], planned)
	}
	l.above += "planned: " + sum.Summary() + "\n\n"
}

func newShownStack(e environmentStack, statuses componentStatuses) shownStack {
	shown := shownStack{Environment: e.Environment, Stack: e.Summary.Stack, Namespace: e.Namespace, Teardown: e.Teardown, Blueprint: e.Blueprint, Active: e.Active, Components: []shownComponent{}}
	for _, c := range e.Components {
		one := shownComponent{ComponentSummary: c}
		if status := statuses[e.key(c)]; status.Status != "" {
			one.Reported = &status
		}
		shown.Components = append(shown.Components, one)
	}
	return shown
}
