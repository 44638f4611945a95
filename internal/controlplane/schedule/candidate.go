package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Candidate is a cluster type as one unit sees it, with everything else where the plan has it. Obstacle is the
// first reason why the unit cannot be placed there; "" if it can.
type Candidate struct {
	ClusterType int
	Obstacle    Obstacle
	// Detail is the taint's key, the resource that is short, the requirement that is not met, or the label to spread by
	// that the cluster type lacks.
	Detail     string
	Need, Free model.Quantity // of that resource
	Scores     []Score        // their sum, by weight, is what candidates are compared by
}

// Obstacle is why a unit cannot be placed on a cluster type.
type Obstacle string

// The obstacles, in the order in which they are looked for.
const (
	ObstacleSelected Obstacle = "selected"
	ObstacleTaint    Obstacle = "taint"
	ObstacleCapacity Obstacle = "capacity"
	ObstacleAvoid    Obstacle = "avoid"
	ObstacleSpread   Obstacle = "spread"
	ObstacleThere    Obstacle = "there" // it is there already
)

// Score is the value that one preference has for a cluster type.
type Score struct {
	For    string `json:"for" yaml:"for"` // "cluster types tier=gold", "score latency"
	Weight int    `json:"weight" yaml:"weight"`
	Value  int    `json:"value" yaml:"value"`
}

// Total returns what a candidate is compared by.
func (c Candidate) Total() int {
	sum := 0
	for _, s := range c.Scores {
		sum += s.Weight * s.Value
	}
	return sum
}

// Candidates returns all cluster types as a unit sees them: first those that it could be placed on, the best
// first, then the others by name.
func (p *Plan) Candidates(u *Unit) []Candidate {
	d, s := p.decider, u.state
	f := filler{decider: d}
	f.startUnit(u)
	f.rateCandidates()
	rated := map[int]rating{}
	for _, r := range f.rated {
		rated[r.clusterType] = r
	}
	all := make([]Candidate, 0, len(d.model.ClusterTypes))
	for i, c := range d.model.ClusterTypes {
		candidate := Candidate{ClusterType: i}
		taint, tainted := s.repellingTaint(c, false)
		resource, short := d.findShort(u, i)
		r, fits := rated[i]
		switch {
		case u.isOn(i):
			candidate.Obstacle = ObstacleThere
		case !s.isSelected(i, c):
			candidate.Obstacle, candidate.Detail = ObstacleSelected, s.describeUnselected(c)
		case tainted:
			candidate.Obstacle, candidate.Detail = ObstacleTaint, taint.Key
		case short:
			at := i*len(d.resources) + resource
			candidate.Obstacle, candidate.Detail = ObstacleCapacity, d.resources[resource]
			candidate.Need, candidate.Free = d.needOf(u, i, resource), max(d.capacity[at]-d.used[at], 0)
		case d.isAvoided(u, i):
			candidate.Obstacle = ObstacleAvoid
		case !fits:
			candidate.Obstacle, candidate.Detail = ObstacleSpread, s.findLackedLabel(i)
		}
		if candidate.Obstacle == "" || candidate.Obstacle == ObstacleThere {
			candidate.Scores = f.scoresOf(i, r)
		}
		all = append(all, candidate)
	}
	slices.SortStableFunc(all, func(a, b Candidate) int {
		if a.Obstacle != "" || b.Obstacle != "" {
			return cmp.Compare(min(len(a.Obstacle), 1), min(len(b.Obstacle), 1))
		}
		x, y := rated[a.ClusterType], rated[b.ClusterType]
		return cmp.Or(x.compare(&y), cmp.Compare(d.hash(u, b.ClusterType), d.hash(u, a.ClusterType)))
	})
	return all
}

func (s *policyState) describeUnselected(c *model.ClusterType) string {
	if r, failed := s.policy.ClusterTypes.Mismatch(c.Labels); failed {
		return "needs " + r.String()
	}
	if placement := s.choice.Decider.Placement; placement != "" {
		return "is not decided by the Placement " + placement
	}
	return "is not among the names of pick"
}

// findLackedLabel returns the label by which units are spread and that a cluster type must have and does not; "" if it
// has all.
func (s *policyState) findLackedLabel(clusterType int) string {
	n := slices.IndexFunc(s.domains, func(d domains) bool { return d.of[clusterType] < 0 })
	if n < 0 {
		return ""
	}
	return s.choice.Spread[n].By
}

// scoresOf returns the parts of a candidate's score. What depends on usage is one part: the rest of the rating.
func (f *filler) scoresOf(clusterType int, r rating) []Score {
	var all []Score
	s := f.unit.state
	for _, p := range s.choice.Prefer {
		switch {
		case p.ClusterTypes != nil:
			all = append(all, Score{"cluster types " + p.ClusterTypes.String(), p.Weight, f.staticValue(p, clusterType)})
		case p.Score != "":
			all = append(all, Score{"score " + p.Score, p.Weight, f.staticValue(p, clusterType)})
		}
	}
	for _, t := range f.model.ClusterTypes[clusterType].Taints {
		if t.Effect == model.PreferNoSelect && !s.choice.Tolerates(t) {
			all = append(all, Score{"taint " + t.Key, preferNoSelect, fullValue})
		}
	}
	if len(s.dynamic) > 0 && !f.unit.isOn(clusterType) {
		all = append(all, Score{"free resources", 1, r.score - s.static[clusterType]})
	}
	return all
}

// Obstacles counts why a unit cannot be placed on more cluster types.
type Obstacles struct {
	Total, Fit int
	counts     []obstacleCount
}

// obstacleCount is how many cluster types have an obstacle, with the largest need and the most that is free.
type obstacleCount struct {
	obstacle   Obstacle
	detail     string
	count      int
	need, free model.Quantity
}

// CountObstacles counts the obstacles of a unit's candidates, by the first that each has.
func CountObstacles(candidates []Candidate) Obstacles {
	o := Obstacles{Total: len(candidates)}
	for _, c := range candidates {
		if c.Obstacle == "" {
			o.Fit++
			continue
		}
		i := slices.IndexFunc(o.counts, func(n obstacleCount) bool { return n.obstacle == c.Obstacle && n.detail == c.Detail })
		if i < 0 {
			i = len(o.counts)
			o.counts = append(o.counts, obstacleCount{obstacle: c.Obstacle, detail: c.Detail})
		}
		n := &o.counts[i]
		n.count, n.need, n.free = n.count+1, max(n.need, c.Need), max(n.free, c.Free)
	}
	order := []Obstacle{ObstacleTaint, ObstacleCapacity, ObstacleAvoid, ObstacleSpread, ObstacleSelected, ObstacleThere}
	slices.SortStableFunc(o.counts, func(a, b obstacleCount) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.obstacle), slices.Index(order, b.obstacle)), cmp.Compare(b.count, a.count), cmp.Compare(a.detail, b.detail))
	})
	return o
}

// String returns the counts in words, as kube-scheduler has them: "0 of 12 cluster types can take it: 1 had an
// untolerated taint (drain), 2 have it already".
func (o Obstacles) String() string {
	parts := make([]string, 0, len(o.counts))
	for _, n := range o.counts {
		parts = append(parts, n.String())
	}
	sentence := fmt.Sprintf("%d of %s can take it", o.Fit, text.Count(o.Total, "cluster type"))
	if len(parts) > 0 {
		sentence += ": " + strings.Join(parts, ", ")
	}
	return sentence
}

func (n obstacleCount) String() string {
	verb := func(one, many string) string {
		if n.count == 1 {
			return one
		}
		return many
	}
	switch n.obstacle {
	case ObstacleTaint:
		return fmt.Sprintf("%d had an untolerated taint (%s)", n.count, n.detail)
	case ObstacleCapacity:
		return fmt.Sprintf("%d %s %s (it needs %s, at most %s is free)", n.count, verb("lacks", "lack"), n.detail, n.need, n.free)
	case ObstacleAvoid:
		return fmt.Sprintf("%d %s what it avoids, or what avoids it", n.count, verb("has", "have"))
	case ObstacleSpread:
		if n.detail != "" {
			return fmt.Sprintf("%d %s no label %s to spread by", n.count, verb("has", "have"), n.detail)
		}
		return fmt.Sprintf("%d would make its spread too uneven", n.count)
	case ObstacleSelected:
		return fmt.Sprintf("%d %s not selected (%s)", n.count, verb("is", "are"), n.detail)
	}
	return fmt.Sprintf("%d %s it already", n.count, verb("has", "have"))
}
