package fleetview

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Release is a version of a deployment target in an environment.
type Release struct {
	Target      string `json:"target"`
	Environment string `json:"environment"`
	Version     string `json:"version"`
	// Since is when the first cluster ran it; Until when the first ran the next version, or zero.
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"`
	// Clusters is the number that run it now, and Failed how many of them report a failure.
	Clusters int `json:"clusters"`
	Failed   int `json:"failed,omitempty"`
}

const maxReleaseParts = 5

// FindReleases returns the versions of a target by environment, newest first, and whether there may
// be more; none without reports.
func (v *View) FindReleases(ctx context.Context, target string) (all []Release, more bool, err error) {
	found := releases{target: target, ran: map[string]map[string]bool{}, last: map[string]string{}}
	q := Query{Workload: target, Limit: MaxItems}
	for range maxReleaseParts {
		part, err := v.FindHistories(ctx, q)
		var unknown *UnknownError
		if errors.As(err, &unknown) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		for _, p := range part.Items {
			found.add(p)
		}
		q.After = part.Next
		if q.After == "" {
			break
		}
	}
	return found.list(), q.After != "", nil
}

// releases requires placements cluster by cluster.
type releases struct {
	target string
	starts []releaseStart
	runs   []Placement                // current ones
	ran    map[string]map[string]bool // versions by object of a cluster
	last   map[string]string          // last version by object of a cluster
}

type releaseStart struct {
	environment, version string
	at                   time.Time
	again                bool
}

func (p Placement) versionName() string { return cmp.Or(p.Version, shortRevision(p.Revision)) }

func (r *releases) add(p Placement) {
	version := p.versionName()
	if version == "" {
		return
	}
	if p.Until.IsZero() {
		r.runs = append(r.runs, p)
	}
	key := p.Environment + " " + p.Cluster + " " + p.Object
	if r.last[key] == version {
		return
	}
	if r.ran[key] == nil {
		r.ran[key] = map[string]bool{}
	}
	r.starts = append(r.starts, releaseStart{p.Environment, version, p.Since, r.ran[key][version]})
	r.ran[key][version], r.last[key] = true, version
}

// list returns releases, newest first. Further clusters with a version are not a new release.
func (r *releases) list() []Release {
	slices.SortStableFunc(r.starts, func(a, b releaseStart) int { return a.at.Compare(b.at) })
	all, last, known := []Release{}, map[string]int{}, map[[2]string]bool{}
	for _, s := range r.starts {
		i, has := last[s.environment]
		if has && all[i].Version == s.version || known[[2]string{s.environment, s.version}] && !s.again {
			continue
		}
		if has {
			all[i].Until = s.at
		}
		last[s.environment], known[[2]string{s.environment, s.version}] = len(all), true
		all = append(all, Release{Target: r.target, Environment: s.environment, Version: s.version, Since: s.at})
	}
	slices.Reverse(all)
	counted := map[string]bool{}
	for _, p := range r.runs {
		i := slices.IndexFunc(all, func(one Release) bool { return one.Environment == p.Environment && one.Version == p.versionName() })
		if key := p.Environment + " " + p.Cluster; i >= 0 && !counted[key] {
			counted[key] = true
			all[i].Clusters++
			if p.Phase == "failed" {
				all[i].Failed++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Release) int {
		return cmp.Or(b.Since.Compare(a.Since), strings.Compare(a.Environment, b.Environment))
	})
	return all
}
