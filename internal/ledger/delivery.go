package ledger

import (
	"crypto/sha256"
	"slices"
	"time"
)

// Delivery is an output and its rollout to the cluster types that it changed.
type Delivery struct {
	Authored time.Time // newest rendered commit; zero if unknown
	Merged   time.Time
	Types    []string
	// Clusters counts those ever ready or failed with the output. Counts are valid if Known is set.
	Clusters, Ready, Failed int
	Known                   bool
	// P95 and Slowest run from the merge until 95% and all of the ready clusters were ready,
	// FirstFailed to the first failure; negative if unknown.
	P95, Slowest, FirstFailed time.Duration
	// TakenBack is set if a later output reverts it: see [FindTakenBack].
	TakenBack bool
}

// Month has the DORA figures of a month or another interval.
type Month struct {
	Start       time.Time
	Deployments int
	// Known counts the deployments with a known result.
	Known, Failed int
	// Lead is the median time from commit to 95% ready, Restore from a failed output's first
	// failure to 95% ready; negative if unknown.
	Lead, Restore time.Duration
}

const (
	// maxFailed is the percentage of clusters that may fail.
	maxFailed = 2
	// mostReady is the percentage of ready clusters that completes a rollout.
	mostReady = 95
)

// SummarizeDeliveries returns the figures of each month since the first output, or since. all is
// ordered by merge.
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

// SummarizeBetween returns the figures of outputs merged in [from, to). all is ordered by merge.
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

// MonthOf returns the start of a month in UTC.
func MonthOf(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// median returns the lower median; negative for none.
func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return -1
	}
	slices.Sort(all)
	return all[(len(all)+1)/2-1]
}

func (d Delivery) hasFailed() bool {
	return d.TakenBack || d.Known && 100*d.Failed > maxFailed*d.Clusters
}

// findRestore returns the time from the first output's first failure until most clusters were ready
// again, with it or a later output of the same types; negative if unknown.
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

// arrivedAfter returns when most clusters became ready, or all if most were ready before t; zero if
// both were earlier.
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

func (d Delivery) changesAll(types []string) bool {
	return !slices.ContainsFunc(types, func(name string) bool { return !slices.Contains(d.Types, name) })
}

// FindTakenBack reports which outputs a later one reverts, by restoring an earlier output's
// folders. changes are ordered by merge.
func FindTakenBack(changes [][]FolderChange) []bool {
	taken := make([]bool, len(changes))
	folders := map[string]string{}
	newest := map[[sha256.Size]byte]int{}
	var digest [sha256.Size]byte
	turn := func(clusterType, id string) {
		if id == "" {
			return
		}
		for i, b := range sha256.Sum256([]byte(clusterType + "/" + id)) {
			digest[i] ^= b // order-independent; toggling twice removes it
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
