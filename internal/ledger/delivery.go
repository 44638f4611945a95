package ledger

import (
	"crypto/sha256"
	"slices"
	"time"
)

// Delivery is an output, and how it came to the clusters of the types whose folders it has changed.
type Delivery struct {
	Authored time.Time // when the newest commit was made that it was rendered from; zero if not known
	Merged   time.Time
	Types    []string // the cluster types, in their order
	// Clusters are those that were ready with it or failed, Ready and Failed those that did so at least
	// once. They are known if Known is set.
	Clusters, Ready, Failed int
	Known                   bool
	// P95 and Slowest are from the merge until 95% and all of those that were ready were, FirstFailed to
	// the first failure. They are negative if that is not known.
	P95, Slowest, FirstFailed time.Duration
	// TakenBack is set if a later output has the folders that an older one had: see [FindTakenBack].
	TakenBack bool
}

// Month has the figures of DORA for the outputs that were merged in a month, or in another part of time.
type Month struct {
	Start       time.Time // in UTC
	Deployments int
	// Known is of how many of them it is known whether they failed, and Failed how many did.
	Known, Failed int
	// Lead is the median of the times from the newest commit until 95% of the clusters were ready. Restore
	// is that from the first failure of an output that failed until 95% of the clusters were ready again.
	// They are negative if not known.
	Lead, Restore time.Duration
}

const (
	// maxFailed is how many percent of the clusters may fail with an output that has not failed.
	maxFailed = 2
	// mostReady is how many percent of the clusters are ready when an output has arrived.
	mostReady = 95
)

// SummarizeDeliveries returns the figures of DORA for each month from that of the first output, or of since
// if that is later, to that of now. Outputs come in the order in which they were merged.
func SummarizeDeliveries(all []Delivery, since, now time.Time) []Month {
	first, found := MonthOf(now), false
	for _, d := range all {
		start := MonthOf(d.Merged)
		if !start.Before(MonthOf(since)) {
			found = true
			if start.Before(first) {
				first = start
			}
		}
	}
	var list []Month
	for start := first; found && !start.After(now); start = start.AddDate(0, 1, 0) {
		list = append(list, SummarizeBetween(all, start, start.AddDate(0, 1, 0)))
	}
	return list
}

// SummarizeBetween returns the figures of DORA for the outputs that were merged from a time on, and before another
// one. Outputs come in the order in which they were merged.
func SummarizeBetween(all []Delivery, from, to time.Time) Month {
	m := Month{Start: from}
	var leads, restores []time.Duration
	for i, d := range all {
		if d.Merged.Before(from) || !d.Merged.Before(to) {
			continue
		}
		m.Deployments++
		if d.Known || d.TakenBack {
			m.Known++
		}
		if d.hasFailed() {
			m.Failed++
			if took := findRestore(all[i:]); took >= 0 {
				restores = append(restores, took)
			}
		}
		if !d.Authored.IsZero() && d.P95 >= 0 {
			leads = append(leads, d.Merged.Add(d.P95).Sub(d.Authored))
		}
	}
	m.Lead, m.Restore = median(leads), median(restores)
	return m
}

// MonthOf returns when the month of a time began, in UTC.
func MonthOf(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// median returns the least time that half of all are at most; negative of none.
func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return -1
	}
	slices.Sort(all)
	return all[(len(all)+1)/2-1]
}

// hasFailed reports whether more clusters have failed than may, or the output was taken back.
func (d Delivery) hasFailed() bool {
	return d.TakenBack || d.Known && 100*d.Failed > maxFailed*d.Clusters
}

// findRestore returns how long it took from the first failure of an output, the first of all, until most
// clusters of its types were ready again: with it, or with a later one that has changed these types as well.
// It is negative if none has failed, or they are not ready.
func findRestore(all []Delivery) time.Duration {
	d := all[0]
	if d.Failed == 0 || d.FirstFailed < 0 {
		return -1
	}
	failed := d.Merged.Add(d.FirstFailed)
	restored := d.arrivedAfter(failed)
	for _, later := range all[1:] {
		if !restored.IsZero() && !later.Merged.Before(restored) {
			break
		}
		at := later.arrivedAfter(failed)
		if !at.IsZero() && (restored.IsZero() || at.Before(restored)) && later.changesAll(d.Types) {
			restored = at
		}
	}
	if restored.IsZero() {
		return -1
	}
	return restored.Sub(failed)
}

// arrivedAfter returns when most clusters were ready with an output, if that was after a time, or else all
// of them; the zero time if they were not after it.
func (d Delivery) arrivedAfter(t time.Time) time.Time {
	most, all := d.Merged.Add(d.P95), d.Merged.Add(d.Slowest)
	switch {
	case !d.Known || d.P95 < 0 || 100*d.Ready < mostReady*d.Clusters:
	case most.After(t):
		return most
	case d.Ready == d.Clusters && all.After(t):
		return all
	}
	return time.Time{}
}

// changesAll reports whether an output has changed the folders of all of some cluster types.
func (d Delivery) changesAll(types []string) bool {
	return !slices.ContainsFunc(types, func(name string) bool { return !slices.Contains(d.Types, name) })
}

// FindTakenBack returns of each output whether a later one has taken it back: whether the later one has in
// all folders what an output before both had, with another one between. Changes are those of each output,
// in the order in which they were merged.
func FindTakenBack(changes [][]FolderChange) []bool {
	taken := make([]bool, len(changes))
	folders := map[string]string{}
	newest := map[[sha256.Size]byte]int{} // the output that had some folders last, by their digest
	var digest [sha256.Size]byte
	turn := func(clusterType, id string) {
		if id == "" {
			return
		}
		for i, b := range sha256.Sum256([]byte(clusterType + "/" + id)) {
			digest[i] ^= b // so that the order does not matter, and what is added twice is gone
		}
	}
	for i, all := range changes {
		for _, f := range all {
			turn(f.ClusterType, folders[f.ClusterType])
			turn(f.ClusterType, f.ID)
			folders[f.ClusterType] = f.ID
		}
		before, known := newest[digest]
		if known {
			for between := before + 1; between < i; between++ {
				taken[between] = true
			}
		}
		newest[digest] = i
	}
	return taken
}
