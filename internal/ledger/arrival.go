package ledger

import "time"

// Arrival is the time from an output's merge to its state on a cluster.
type Arrival struct {
	// Ready and Failed are the times to the first success and failure; negative for none.
	Ready, Failed time.Duration
}

// FindArrival uses the platform object's spans. Older outputs with the same folder count from the
// merge on, newer ones unless another folder came in between.
func FindArrival(spans []Span, outputs *Outputs, wanted Output, clusterType string) Arrival {
	a := Arrival{-1, -1}
	for _, s := range spans {
		at, ours := outputs.Find(s.Target())
		if !ours || !outputs.isArrival(at, wanted, clusterType) || !s.Until.IsZero() && !s.Until.After(wanted.Merged) {
			continue
		}
		took := max(s.Since.Sub(wanted.Merged), 0)
		switch {
		case s.Phase == Ready && a.Ready < 0:
			a.Ready = took
		case s.Phase == Failed && a.Failed < 0:
			a.Failed = took
		}
	}
	return a
}
