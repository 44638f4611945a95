package ledgerdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

const everything = -1

// Load reads all clusters into an empty ledger.
func (s *Store) Load(ctx context.Context, into *ledger.Ledger) error {
	var n News
	generation := s.generation
	err := s.engine.read(ctx, func(in session) (err error) {
		generation, err = loadGeneration(ctx, in)
		if err == nil {
			n, err = loadNews(ctx, in, everything)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	s.generation = generation
	for _, c := range n.Clusters {
		into.RestoreCluster(c)
	}
	for _, o := range n.Objects {
		into.RestoreObject(o)
	}
	return nil
}

// News has some clusters with all of their objects.
type News struct {
	Clusters []ledger.Cluster
	Objects  []ledger.Saved
}

func loadNews(ctx context.Context, in session, after int64) (News, error) {
	l := loader{in, after, map[int64]*ledger.Cluster{}, map[int64]*ledger.Saved{}}
	for _, step := range []func(context.Context) error{l.loadClusters, l.loadNames, l.loadPlaces, l.loadStates, l.loadIdentities, l.loadEvidence, l.loadSpansBefore} {
		err := step(ctx)
		if err != nil {
			return News{}, err
		}
	}
	var n News
	for _, id := range slices.Sorted(maps.Keys(l.clusters)) {
		n.Clusters = append(n.Clusters, *l.clusters[id])
	}
	for _, id := range slices.Sorted(maps.Keys(l.objects)) {
		n.Objects = append(n.Objects, *l.objects[id])
	}
	return n, nil
}

func loadGeneration(ctx context.Context, in session) (generation int64, err error) {
	err = in.query(ctx, "generation_load", nil, func(scan scanFunc) error { return scan(&generation) })
	return generation, err
}

type loader struct {
	session
	after    int64
	clusters map[int64]*ledger.Cluster
	objects  map[int64]*ledger.Saved
}

func (l loader) loadClusters(ctx context.Context) error {
	return l.query(ctx, "clusters_load", []any{l.after}, func(scan scanFunc) error {
		var c ledger.Cluster
		var id, every, first, last, rivalSeen, sequence, sent, agent, began int64
		var name, others string
		err := scan(&id, &c.ID, &name, &c.UID, &c.Group.Environment, &c.Group.ClusterType, &c.Platform, &c.Unproven, &every, &first, &last, &c.Rival, &rivalSeen,
			&c.Boot, &sequence, &sent, &agent, &c.Digest, &c.RivalObject, &began, &others)
		c.Others = ledger.DecodeAppliers(others)
		c.Every, c.Sequence = time.Duration(every)*time.Second, uint64(sequence)
		c.FirstSeen, c.LastSeen, c.RivalSeen, c.Sent, c.AgentSeen, c.Began = timeOf(first), timeOf(last), timeOf(rivalSeen), timeOf(sent), timeOf(agent), timeOf(began)
		l.clusters[id] = &c
		return err
	})
}

func (l loader) loadNames(ctx context.Context) error {
	return l.query(ctx, "cluster_names_load", []any{l.after}, func(scan scanFunc) error {
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

func (l loader) loadPlaces(ctx context.Context) error {
	return l.query(ctx, "cluster_places_load", []any{l.after}, func(scan scanFunc) error {
		var cluster, until int64
		var p ledger.Place
		err := scan(&cluster, &until, &p.Group.Environment, &p.Group.ClusterType)
		p.Until = timeOf(until)
		if c := l.clusters[cluster]; c != nil {
			all := append(c.Places(), p)
			c.Left = &all
		}
		return err
	})
}

func (l loader) loadStates(ctx context.Context) error {
	return l.query(ctx, "states_load", []any{l.after}, func(scan scanFunc) error {
		var id, cluster, phase, since, said int64
		var o ledger.Saved
		var level bool
		s := &o.State
		err := scan(&id, &cluster, &o.Object.Name, &phase, &s.Revision, &s.Attempted, &since, &said, &level, &s.Message, &s.App)
		c := l.clusters[cluster]
		if err != nil || c == nil {
			return err
		}
		o.Object.Cluster, s.Group, s.Phase, s.Said = c.ID, c.Group, ledger.Phase(phase), timeOf(said)
		s.Message, s.Plan = ledger.SplitDetail(s.Phase, s.Message)
		o.Open = ledger.Span{Since: timeOf(since), Phase: s.Phase, Revision: s.Revision, Attempted: s.Attempted}
		o.Reports = []ledger.Report{{Object: o.Object, Group: s.Group, Phase: s.Phase, Target: s.Target(), Level: level, App: s.App, Message: s.Message, Plan: s.Plan, Said: s.Said}}
		l.objects[id] = &o
		return nil
	})
}

func (l loader) loadIdentities(ctx context.Context) error {
	return l.query(ctx, "object_uids_load", []any{l.after}, func(scan scanFunc) error {
		var id, changed int64
		var found ledger.Identity
		err := scan(&id, &found.UID, &found.Other, &changed, &found.IsContested)
		found.Changed = timeOf(changed)
		if o := l.objects[id]; o != nil {
			o.Identity = found
		}
		return err
	})
}

// loadEvidence replaces the report derived from a state by stored ones.
func (l loader) loadEvidence(ctx context.Context) error {
	last := int64(-1)
	return l.query(ctx, "evidence_load", []any{l.after}, func(scan scanFunc) error {
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
		r.Message, r.Plan = ledger.SplitDetail(r.Phase, r.Message)
		if r.Runs == o.State.Revision || r.Phase == ledger.Ready && r.Target == o.State.Revision {
			r.App = o.State.App
		}
		o.Reports = append(o.Reports, r)
		return nil
	})
}

// loadSpansBefore adds spans that continue if the open one is too short to keep.
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
