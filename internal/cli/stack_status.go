package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/kubestatus"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// addReportFlags adds the flags that name where reports of clusters are.
func (cc *commandContext) addReportFlags(c *cobra.Command) {
	c.Flags().StringVar(&cc.daemonURL, "url", "", "ask the daemon whose page is at this `URL` for the status (default: listen of the settings)")
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+", if it is there)")
}

// The statuses of components, the worst one first.
const (
	statusFailed      = "failed"
	statusDiffers     = "plan differs" // from the one that was approved: it is not applied
	statusDrifted     = "drifted"
	statusWaits       = "waits for approval"
	statusUnknown     = "unknown"
	statusProgressing = "progressing"
	statusBehind      = "behind" // ready, with a root module of before
	statusSuspended   = "suspended"
	statusReady       = "ready"
	statusDestroyed   = "destroyed" // ready, with everything gone
)

var worstStatuses = []string{statusFailed, statusDiffers, statusDrifted, statusWaits, statusUnknown, statusProgressing, statusBehind, statusSuspended, statusReady, statusDestroyed}

// componentStatus is what clusters report of a component: the worst of them, if there are several. The
// zero componentStatus stands for no report.
type componentStatus struct {
	Status  string    `json:"status"`
	Cluster string    `json:"cluster"`
	Since   time.Time `json:"since,omitzero"`
	Message string    `json:"message,omitempty"`
}

// componentKey identifies a component among those of all environments.
type componentKey struct{ environment, namespace, object string }

func (e environmentStack) key(c stackfiles.ComponentSummary) componentKey {
	return componentKey{e.Environment, e.Namespace, c.Object}
}

// componentStatuses are what clusters report of components; nil if there is no ledger to ask.
type componentStatuses map[componentKey]componentStatus

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
			all[stack.key(c)] = findComponentStatus(c, reports[stack.key(c)])
		}
	}
	return all, nil
}

// askPlacements returns what clusters report of the objects of all components, in one question: so much
// names some four hundred of them, and what is more is asked in another one.
func askPlacements(ctx context.Context, of fleetAsker, stacks []environmentStack) (map[componentKey][]fleetview.Placement, error) {
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
	all := map[componentKey][]fleetview.Placement{}
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
				all[key] = append(all[key], p)
			}
		}
	}
	return all, nil
}

// findComponentStatus returns the status of a component by what clusters report of its objects. What it
// is made of counts, a Terraform object or a HelmRelease; its Kustomization counts where that is ready, or not
// reported.
func findComponentStatus(c stackfiles.ComponentSummary, reports []fleetview.Placement) componentStatus {
	byCluster := map[string][]componentStatus{}
	for _, p := range reports {
		one := componentStatus{Status: statusOf(c, p), Cluster: p.Cluster, Since: p.Since, Message: p.Message}
		kind, _, _ := strings.Cut(p.Object, "/")
		known := byCluster[p.Cluster]
		if kind == "Kustomization" {
			byCluster[p.Cluster] = append(known, one)
		} else {
			byCluster[p.Cluster] = append([]componentStatus{one}, known...)
		}
	}
	var worst componentStatus
	for _, all := range byCluster {
		of := all[0]
		if of.Status == statusReady {
			of = all[len(all)-1]
		}
		if of.Status == statusReady && c.Action == stackfiles.Destroy {
			of.Status = statusDestroyed
		}
		if worst.Status == "" || of.compare(worst) < 0 {
			worst = of
		}
	}
	return worst
}

// compare orders statuses, the worst one first.
func (s componentStatus) compare(other componentStatus) int {
	return cmp.Or(cmp.Compare(slices.Index(worstStatuses, s.Status), slices.Index(worstStatuses, other.Status)), cmp.Compare(s.Cluster, other.Cluster))
}

// statusOf returns what a report of an object says of its component.
func statusOf(c stackfiles.ComponentSummary, p fleetview.Placement) string {
	kind, _, _ := strings.Cut(p.Object, "/")
	switch phase := ledger.ParsePhase(p.Phase); {
	case phase == ledger.Failed && strings.HasPrefix(p.Message, kubestatus.AwaitsApproval):
		return statusWaits
	case phase == ledger.Failed && strings.HasPrefix(p.Message, tfplan.Differs):
		return statusDiffers
	case phase == ledger.Failed && strings.HasPrefix(p.Message, kubestatus.HasDrift):
		return statusDrifted
	case phase == ledger.Ready && kind == "Terraform" && !c.IsPlannedAt(ledger.ParseRevision(p.Revision).Commit):
		return statusBehind
	case slices.Contains(worstStatuses, phase.String()):
		return phase.String()
	}
	return statusUnknown
}

// summarize returns the statuses of the components of a stack in few words.
func (s componentStatuses) summarize(stack environmentStack) string {
	counts := map[string]int{}
	for _, c := range stack.Components {
		counts[cmp.Or(s[stack.key(c)].Status, "not reported")]++
	}
	var parts []string
	for _, status := range append(slices.Clone(worstStatuses), "not reported") {
		switch n := counts[status]; n {
		case 0:
		case len(stack.Components):
			return status
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	return strings.Join(parts, ", ")
}

// shownStack is a stack as programs get it, with what clusters report.
type shownStack struct {
	Environment string `json:"environment"`
	Stack       string `json:"stack"`
	Namespace   string `json:"namespace"`
	Teardown    bool   `json:"teardown"`

	Components []shownComponent `json:"components"`
}

type shownComponent struct {
	stackfiles.ComponentSummary
	Reported *componentStatus `json:"reported,omitempty"` // nil if no cluster reports it, or there is no ledger to ask
}

func newShownStack(e environmentStack, statuses componentStatuses) shownStack {
	shown := shownStack{Environment: e.Environment, Stack: e.Stack, Namespace: e.Namespace, Teardown: e.Teardown, Components: []shownComponent{}}
	for _, c := range e.Components {
		one := shownComponent{ComponentSummary: c}
		if status := statuses[e.key(c)]; status.Status != "" {
			one.Reported = &status
		}
		shown.Components = append(shown.Components, one)
	}
	return shown
}
