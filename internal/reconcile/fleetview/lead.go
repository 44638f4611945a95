package fleetview

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// LeadTime is the time that an output took to the clusters that it changed.
type LeadTime struct {
	Environment string    `json:"environment"`
	Output      string    `json:"output"`
	Base        string    `json:"base,omitempty"`
	Authored    time.Time `json:"authored,omitzero"` // time of the newest rendered commit
	Merged      time.Time `json:"merged"`
	// Unknown is true for outputs before the first with known arrivals; they have no numbers.
	Unknown  bool `json:"unknown,omitempty"`
	Clusters int  `json:"clusters"` // how many have it
	Failed   int  `json:"failed"`   // how many failed with it at least once
	// P50, P95 and Slowest are seconds after the merge, without clusters first seen later.
	P50     int `json:"p50Seconds,omitempty"`
	P95     int `json:"p95Seconds,omitempty"`
	Slowest int `json:"slowestSeconds,omitempty"`
	// Lead is the number of seconds from authored to P95; 0 if unknown.
	Lead int `json:"leadSeconds,omitempty"`
}

// FindLeadTimes returns the lead times of an environment's outputs, newest first.
func (v *View) FindLeadTimes(ctx context.Context, q Query) (Page[LeadTime], error) {
	page := Page[LeadTime]{Items: []LeadTime{}}
	_, err := v.selectEnvironments(ctx, q.Environment)
	if err != nil {
		return page, err
	}
	before := int64(math.MaxInt64)
	if q.After != "" {
		before, err = strconv.ParseInt(q.After, 10, 64)
		if err != nil {
			return page, &QueryError{fmt.Sprintf("after is %s", strconv.Quote(q.After)), "it is the next of the part before"}
		}
	}
	var outputs []ledgerdb.FleetOutput
	var known time.Time
	err = v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
		outputs, err = s.FindOutputs(ctx, q.Environment, q.Since, before, q.Limit+1)
		if err == nil {
			known, err = s.FindKnownSince(ctx, q.Environment)
		}
		return err
	})
	if len(outputs) > q.Limit {
		outputs = outputs[:q.Limit]
		page.Next = strconv.FormatInt(outputs[q.Limit-1].Seq, 10)
	}
	for _, o := range outputs {
		page.Items = append(page.Items, newLeadTime(q.Environment, o, known))
	}
	return page, err
}

// known is the merge time of the first output with arrivals; zero for none.
func newLeadTime(environment string, o ledgerdb.FleetOutput, known time.Time) LeadTime {
	l := LeadTime{
		Environment: environment, Output: o.Revision, Base: o.Base, Authored: o.Authored, Merged: o.Merged, Unknown: !isKnown(o, known),
		Clusters: o.Ready, Failed: o.Failed, P50: countSeconds(o.P50), P95: countSeconds(o.P95), Slowest: countSeconds(o.Slowest),
	}
	if !o.Authored.IsZero() && o.P95 >= 0 {
		l.Lead = countSeconds(o.Merged.Sub(o.Authored) + o.P95)
	}
	return l
}

func isKnown(o ledgerdb.FleetOutput, since time.Time) bool {
	return !since.IsZero() && !o.Merged.Before(since)
}

func countSeconds(d time.Duration) int { return int(max(d, 0) / time.Second) }
