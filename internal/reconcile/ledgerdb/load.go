package ledgerdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Load reads what is known of all clusters into a ledger that knows none.
func (s *Store) Load(ctx context.Context, into *ledger.Ledger) error {
	err := s.engine.read(ctx, func(in session) error {
		l := loader{in, map[int64]*ledger.Cluster{}, map[int64]*ledger.Saved{}}
		for _, step := range []func(context.Context) error{l.loadClusters, l.loadNames, l.loadStates, l.loadEvidence, l.loadSpansBefore} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		for _, id := range slices.Sorted(maps.Keys(l.clusters)) {
			into.RestoreCluster(*l.clusters[id])
		}
		for _, o := range l.objects {
			into.RestoreObject(*o)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	return nil
}

// loader has what was read, by id.
type loader struct {
	session
	clusters map[int64]*ledger.Cluster
	objects  map[int64]*ledger.Saved
}

func (l loader) loadClusters(ctx context.Context) error {
	return l.query(ctx, "clusters_load", nil, func(scan scanFunc) error {
		var c ledger.Cluster
		var id, every, first, last, rivalSeen, sequence, sent, agent int64
		var name string
		err := scan(&id, &c.ID, &name, &c.UID, &c.Group.Environment, &c.Group.ClusterType, &c.Platform, &c.Unproven, &every, &first, &last, &c.Rival, &rivalSeen,
			&c.Boot, &sequence, &sent, &agent, &c.Digest)
		c.Every, c.Sequence = time.Duration(every)*time.Second, uint64(sequence)
		c.FirstSeen, c.LastSeen, c.RivalSeen, c.Sent, c.AgentSeen = timeOf(first), timeOf(last), timeOf(rivalSeen), timeOf(sent), timeOf(agent)
		l.clusters[id] = &c
		return err
	})
}

func (l loader) loadNames(ctx context.Context) error {
	return l.query(ctx, "cluster_names_load", nil, func(scan scanFunc) error {
		var cluster, since int64
		var name string
		if err := scan(&cluster, &name, &since); err != nil {
			return err
		}
		if c := l.clusters[cluster]; c != nil {
			c.Names = append(c.Names, ledger.Naming{Name: name, Since: timeOf(since)})
		}
		return nil
	})
}

func (l loader) loadStates(ctx context.Context) error {
	return l.query(ctx, "states_load", nil, func(scan scanFunc) error {
		var id, cluster, phase, since, said int64
		var o ledger.Saved
		var level bool
		s := &o.State
		err := scan(&id, &cluster, &o.Object.Name, &phase, &s.Revision, &s.Attempted, &since, &said, &level, &s.Message)
		c := l.clusters[cluster]
		if err != nil || c == nil {
			return err
		}
		o.Object.Cluster, s.Group, s.Phase, s.Said = c.ID, c.Group, ledger.Phase(phase), timeOf(said)
		o.Open = ledger.Span{Since: timeOf(since), Phase: s.Phase, Revision: s.Revision, Attempted: s.Attempted}
		o.Reports = []ledger.Report{{Object: o.Object, Group: s.Group, Phase: s.Phase, Target: s.Target(), Level: level, Message: s.Message, Said: s.Said}}
		l.objects[id] = &o
		return nil
	})
}

// loadEvidence puts the reports that were stored in the place of the one that follows from a state.
func (l loader) loadEvidence(ctx context.Context) error {
	last := int64(-1)
	return l.query(ctx, "evidence_load", nil, func(scan scanFunc) error {
		var id, phase, said int64
		var r ledger.Report
		if err := scan(&id, &phase, &r.Target, &r.Runs, &said, &r.Level, &r.Message); err != nil {
			return err
		}
		o := l.objects[id]
		if o == nil {
			return nil
		}
		if id != last {
			o.Reports, last = nil, id
		}
		r.Object, r.Group, r.Phase, r.Said = o.Object, o.State.Group, ledger.Phase(phase), timeOf(said)
		o.Reports = append(o.Reports, r)
		return nil
	})
}

// loadSpansBefore adds the spans that go on if the open one turns out to be short.
func (l loader) loadSpansBefore(ctx context.Context) error {
	for id, o := range l.objects {
		if o.State.Phase != ledger.Progressing {
			continue
		}
		err := l.query(ctx, "span_before", []any{id, unixOf(o.Open.Since)}, func(scan scanFunc) error {
			var since, phase int64
			err := scan(&since, &phase, &o.Before.Revision, &o.Before.Attempted)
			o.Before.Since, o.Before.Phase = timeOf(since), ledger.Phase(phase)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
