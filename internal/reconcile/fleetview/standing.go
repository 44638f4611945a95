package fleetview

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
)

// Standing counts an environment's clusters by their status against its newest output.
type Standing struct {
	Environment string    `json:"environment"`
	Output      string    `json:"output,omitempty"` // the commit
	Base        string    `json:"base,omitempty"`   // the commit of the base it was rendered from
	Merged      time.Time `json:"merged,omitzero"`
	// Expected is the number of known clusters, or that in the control plane. Each is in one of the
	// classes below.
	Expected    int `json:"expected"`
	Ready       int `json:"ready"`
	Progressing int `json:"progressing"`
	// Waiting counts progressing clusters that wait for approval of plans, and Drifted failed ones
	// with only drift.
	Waiting   int `json:"waiting"`
	Drifted   int `json:"drifted"`
	Behind    int `json:"behind"`
	Unknown   int `json:"unknown"`
	Failed    int `json:"failed"`
	Silent    int `json:"silent"`
	Unproven  int `json:"unproven"`
	Unheard   int `json:"unheard"`
	Contested int `json:"contested"`
	Agents    int `json:"agents"` // how many have an agent
	// P95 is the number of seconds after the merge when 95% of the changed clusters were ready; 0
	// if they are not, or unknown.
	P95 int `json:"p95Seconds,omitempty"`
}

// Other counts the classes that summaries combine.
func (s Standing) Other() int { return s.Unknown + s.Unproven + s.Unheard + s.Contested }

// Summary returns the counts as one line.
func (s Standing) Summary() string {
	lines := fmt.Sprintf("%d of %s ready", s.Ready, text.Count(s.Expected, "cluster"))
	waits := stackview.Waits
	if s.Waiting > 1 {
		waits = "wait for approval"
	}
	for _, part := range []struct {
		n    int
		word string
	}{
		{s.Failed - s.Drifted, "failed"}, {s.Drifted, stackview.Drifted}, {s.Waiting, waits}, {s.Behind, "behind"}, {s.Progressing - s.Waiting, "progressing"}, {s.Silent, "silent"}, {s.Other(), "other"},
	} {
		if part.n > 0 {
			lines += fmt.Sprintf(", %d %s", part.n, part.word)
		}
	}
	return lines
}

// FindStandings returns the standing of each environment.
func (v *View) FindStandings(ctx context.Context, q Query) (Page[Standing], error) {
	page := Page[Standing]{Items: []Standing{}}
	err := v.visitStandings(ctx, q.Environment, func(s Standing, _ situations) { page.Items = append(page.Items, s) })
	return page, err
}

// Overview is a Standing with clusters that are not ready.
type Overview struct {
	Standing
	Laggards Page[Laggard]
}

// FindOverviews returns overviews with at most limit clusters that are not ready.
func (v *View) FindOverviews(ctx context.Context, limit int) (all []Overview, err error) {
	err = v.visitStandings(ctx, "", func(s Standing, found situations) {
		all = append(all, Overview{s, newPage(newLaggards(found, Query{}), Query{Limit: limit}, Laggard.key)})
	})
	return all, err
}

func (v *View) visitStandings(ctx context.Context, named string, visit func(Standing, situations)) error {
	environments, err := v.selectEnvironments(ctx, named)
	if err != nil {
		return err
	}
	for _, name := range environments {
		found, err := v.findSituations(ctx, name)
		if err != nil {
			return err
		}
		s := newStanding(name, found)
		err = v.addPercentile(ctx, &s)
		if err != nil {
			return err
		}
		if name != "" || s.Expected > 0 {
			visit(s, found)
		}
	}
	return nil
}

func (v *View) addPercentile(ctx context.Context, s *Standing) error {
	if 100*s.Ready < 95*s.Expected {
		return nil
	}
	return v.Ask(ctx, func(store *ledgerdb.Store) error {
		outputs, err := store.FindOutputs(ctx, s.Environment, time.Time{}, math.MaxInt64, 1)
		if len(outputs) > 0 {
			s.P95 = countSeconds(outputs[0].P95)
		}
		return err
	})
}

func newStanding(environment string, of situations) Standing {
	newest := of.wants.Newest
	s := Standing{Environment: environment, Output: newest.Revision, Base: of.wants.Base, Merged: newest.Merged, Expected: len(of.all)}
	counts := map[ledger.Class]*int{
		ledger.ClassReady: &s.Ready, ledger.ClassProgressing: &s.Progressing, ledger.ClassBehind: &s.Behind, ledger.ClassUnknown: &s.Unknown, ledger.ClassFailed: &s.Failed,
		ledger.ClassSilent: &s.Silent, ledger.ClassUnproven: &s.Unproven, ledger.ClassUnheard: &s.Unheard, ledger.ClassContested: &s.Contested,
	}
	for _, one := range of.all {
		*counts[one.Class]++
		switch one.Reason.Cause {
		case ledger.CauseApproval:
			s.Waiting++
		case ledger.CauseDrift:
			s.Drifted++
		default:
		}
		if one.Cluster != nil && one.Cluster.Boot != "" {
			s.Agents++
		}
	}
	return s
}

// Laggard is a cluster that is not ready, or several that were never in touch.
type Laggard struct {
	Cluster  string `json:"cluster,omitempty"` // "" if never in touch and not listed by name
	Type     string `json:"clusterType"`
	Clusters int    `json:"clusters"` // how many clusters it stands for
	Standing string `json:"standing"`
	// Cause is a cause of the ledger, and Why describes it in a sentence.
	Cause string `json:"cause"`
	Why   string `json:"why"`
	// Object is the object that shows the cause since that time.
	Object   string    `json:"object,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	LastSeen time.Time `json:"lastSeen,omitzero"`
	order    ledger.Cause
}

func (l Laggard) key() string { return fmt.Sprintf("%02d %s %s", l.order, l.Cluster, l.Type) }

// FindBehind returns the clusters of an environment that are not ready.
func (v *View) FindBehind(ctx context.Context, q Query) (Page[Laggard], error) {
	_, err := v.selectEnvironments(ctx, q.Environment)
	if err == nil {
		err = v.checkCluster(q)
	}
	if err != nil {
		return Page[Laggard]{}, err
	}
	found, err := v.findSituations(ctx, q.Environment)
	if err != nil {
		return Page[Laggard]{}, err
	}
	return newPage(newLaggards(found, q), q, Laggard.key), nil
}

func newLaggards(of situations, q Query) []Laggard {
	all := []Laggard{}
	unheard := map[string]int{} // index in all, by type
	for _, s := range of.all {
		name := s.Listed
		if s.Cluster != nil {
			name = s.Cluster.Name()
		}
		if s.Class == ledger.ClassReady || !q.selects(s.Type, name, s.Class.String()) {
			continue
		}
		l := Laggard{
			Cluster: name, Type: s.Type, Clusters: 1, Standing: s.Class.String(), Cause: s.Reason.Cause.String(), Why: explainSituation(s, of),
			Object: s.Reason.Object.Name, Since: s.Reason.Since, order: s.Reason.Cause,
		}
		if s.Cluster != nil {
			l.LastSeen = s.Cluster.LastSeen
		} else if name == "" {
			if i, known := unheard[s.Type]; known {
				all[i].Clusters++
				continue
			}
			unheard[s.Type] = len(all)
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b Laggard) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Type, b.Type))
	})
	return all
}
