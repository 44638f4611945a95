package model

import "github.com/fairlead-io/fairlead/internal/base/problem"

// Progress is what people have written about promotion. It is no part of a [Model]: it
// decides when a commit is rendered, and not the content.
type Progress struct {
	Promotions   []*Promotion
	Freezes      []*Freeze
	Holds        []*Hold // of whole environments
	LaneHolds    []*Hold
	Approvals    []*Approval
	Ephemerals   []*Ephemeral
	HoldReleases []*HoldRelease
	Keys         []*ClusterKey
	Lanes        []*LaneRecord
	Feeds        []*Feed
	Releases     []*Release
	Pins         []*Pin
	Skips        []*Skip
	Waves        []*WaveDecision
	Clusters     []*ListedCluster // see ListClusters
	// ClosedLists are the ClusterLists, as "Kind/name", that say that only listed clusters count.
	ClosedLists []string
	Problems    problem.List
}

func (p *Progress) add(o *Progress) {
	p.Promotions = append(p.Promotions, o.Promotions...)
	p.Freezes = append(p.Freezes, o.Freezes...)
	p.Holds = append(p.Holds, o.Holds...)
	p.LaneHolds = append(p.LaneHolds, o.LaneHolds...)
	p.Approvals = append(p.Approvals, o.Approvals...)
	p.Ephemerals = append(p.Ephemerals, o.Ephemerals...)
	p.HoldReleases = append(p.HoldReleases, o.HoldReleases...)
	p.Keys = append(p.Keys, o.Keys...)
	p.Lanes = append(p.Lanes, o.Lanes...)
	p.Feeds = append(p.Feeds, o.Feeds...)
	p.Releases = append(p.Releases, o.Releases...)
	p.Pins = append(p.Pins, o.Pins...)
	p.Skips = append(p.Skips, o.Skips...)
	p.Waves = append(p.Waves, o.Waves...)
	p.Clusters = append(p.Clusters, o.Clusters...)
	p.ClosedLists = append(p.ClosedLists, o.ClosedLists...)
	p.Problems = append(p.Problems, o.Problems...)
}

// Progress reads the objects of a layer that are about promotion.
func (p *Parser) Progress(env string, l Layer) *Progress { return &p.readLayer(env, l).progress }
