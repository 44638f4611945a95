package ledger

import "time"

// Arrival is how long an output took to a cluster after it was merged.
type Arrival struct {
	// Ready and Failed are the times to the first success and the first failure; negative for none.
	Ready, Failed time.Duration
}

// FindArrival returns when an output arrived at a cluster, by the spans of its platform object. An older
// output with the same folder of the cluster type counts, from the merge on, and a newer one if none
// between them has another folder.
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
