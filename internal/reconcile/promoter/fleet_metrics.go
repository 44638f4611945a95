package promoter

import (
	"path"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// fleetInterval is how often the clusters of all environments are counted at most.
const fleetInterval = 15 * time.Second

// mergedOutput is when the output at a head was merged.
type mergedOutput struct {
	head string
	at   time.Time
}

// CountFleet counts how the clusters of environments stand to the heads of their outputs, for the
// metrics. It runs after each round, as clusters fall silent without an event.
func (m *Promoter) CountFleet(environments map[string]Environment) {
	if m.options.Metrics == nil || m.options.Ledger == nil || m.now.Sub(m.fleetCounted) < fleetInterval {
		return
	}
	m.fleetCounted = m.now
	for name, e := range environments {
		err := m.options.Barrier.Run("count the clusters", name, func() error { return m.countClusters(name, e) })
		if err != nil {
			m.options.Metrics.ForgetFleet(name)
			m.options.Logger.Debug("the clusters of an environment could not be counted", "environment", name, "error", err)
		}
	}
}

func (m *Promoter) countClusters(name string, e Environment) error {
	output := m.findLocation(e)
	if output.remote == nil || output.remote.Mirror() == nil {
		m.options.Metrics.ForgetFleet(name)
		return nil
	}
	mirror := output.remote.Mirror()
	head, err := mirror.Branch(e.Branch)
	if err != nil {
		return err
	}
	output.head = head
	merged, err := m.findMergeTime(name, mirror, output)
	if err != nil {
		return err
	}
	outputs := m.findOutputs(name, output, e.ClusterTypes)
	wanted, found := outputs.Find(head)
	if !found {
		m.options.Metrics.ForgetFleet(name)
		return nil
	}
	wanted.Merged = merged
	known := m.memoryOf(name)
	w := newWanted(name, wanted, e.ClusterTypes, known.listed, known.isClosed())
	m.options.Metrics.SetFleet(name, m.options.Ledger.FindStandings(w, outputs), m.now.Sub(merged))
	return nil
}

func (m *Promoter) findMergeTime(environment string, mirror *git.Repository, output outputLocation) (time.Time, error) {
	known := &m.memoryOf(environment).merged
	if known.head != output.head {
		brought, err := mirror.LastChangedBy(output.head, path.Join(output.folder, publish.RecordFile), maxRecords)
		if err != nil {
			return time.Time{}, err
		}
		*known = mergedOutput{output.head, brought.When}
	}
	return known.at, nil
}
