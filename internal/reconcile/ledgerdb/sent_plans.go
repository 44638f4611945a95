package ledgerdb

import (
	"context"
	"fmt"
	"time"
)

// SentPlan is a plan of a Terraform object that a cluster sent. The ledger does not read its content.
type SentPlan struct {
	ID, Cluster, Namespace, Object string
	Received                       time.Time
	Content                        string // JSON
}

// Limits of what is kept: plans of an object, and how long.
const (
	maxPlansOfObject = 8
	plansKept        = 180 * 24 * time.Hour
)

// WritePlan stores a plan in place of the one with its id.
func WritePlan(ctx context.Context, s *Store, p SentPlan) error {
	err := s.engine.transact(ctx, func(in session) error {
		err := in.exec(ctx, "plan_write", p.ID, p.Cluster, p.Namespace, p.Object, p.Received.UnixNano(), longText(p.Content))
		if err == nil {
			err = in.exec(ctx, "plans_trim", p.Cluster, p.Namespace, p.Object, maxPlansOfObject)
		}
		if err == nil {
			err = in.exec(ctx, "plans_forget", p.Received.Add(-plansKept).UnixNano())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

// ListPlans returns the plans received since a time, oldest first.
func ListPlans(ctx context.Context, s *Store, since time.Time) ([]SentPlan, error) {
	var all []SentPlan
	from := int64(0)
	if !since.IsZero() {
		from = since.UnixNano()
	}
	err := s.ask(ctx, "plans_since", []any{from}, func(scan scanFunc) error {
		var p SentPlan
		var received int64
		err := scan(&p.ID, &p.Cluster, &p.Namespace, &p.Object, &received, &p.Content)
		p.Received = time.Unix(0, received).UTC()
		all = append(all, p)
		return err
	})
	return all, err
}
