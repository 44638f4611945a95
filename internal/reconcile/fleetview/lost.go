package fleetview

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

const (
	// returnsWithin is how soon after a loss a known cluster returns.
	returnsWithin = 24 * time.Hour
	// toldWithin is how soon after its first contact a cluster has reported all its objects.
	toldWithin = 10 * time.Minute
)

// markLost marks the first items of histories that may have begun before the ledger was lost. The
// first history may continue from the previous page.
func (v *View) markLost(all []Placement, after string) {
	loss, lost := v.Ledger.FindLoss("", time.Time{})
	if !lost || loss.IsPending {
		return
	}
	known := map[string]ledger.Cluster{}
	for _, c := range v.Ledger.Clusters() {
		known[c.Name()] = c
	}
	before, _ := parsePosition(after) // already validated
	for i, p := range all {
		isFirst := p.Object != before.object || p.Cluster != before.cluster
		before = position{object: p.Object, cluster: p.Cluster}
		c, found := known[p.Cluster]
		switch {
		case !found:
		case c.FirstSeen.Before(loss.Time): // the loss was partial
			if p.Since.Before(loss.Time) && (p.Until.IsZero() || p.Until.After(loss.Time)) {
				all[i].Lost = loss.Time
			}
		case isFirst && c.FirstSeen.Sub(loss.Time) <= returnsWithin && p.Since.Sub(c.FirstSeen) <= toldWithin:
			all[i].Lost = loss.Time
		}
	}
}
