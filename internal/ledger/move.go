package ledger

import (
	"slices"
	"time"
)

const maxPlaces = 32

// Place is a part of the fleet that a cluster belonged to until a time.
type Place struct {
	Group Group
	Until time.Time
}

// Places returns the places that a cluster has left, oldest first.
func (c *Cluster) Places() []Place {
	if c.Left == nil {
		return nil
	}
	return *c.Left
}

// LastMoved returns when a cluster last moved; zero if never.
func (c *Cluster) LastMoved() time.Time {
	all := c.Places()
	if len(all) == 0 {
		return time.Time{}
	}
	return all[len(all)-1].Until
}

// noteMove splits the spans of a moved cluster, whose objects now report about the new place.
func (l *Ledger) noteMove(before Cluster, cluster *Cluster, at time.Time, receipt *Receipt) {
	if before.Platform == "" || before.Group.Environment == "" || before.Group == cluster.Group {
		return
	}
	moved := timeOf(unixSeconds(at))
	if !moved.After(cluster.LastMoved()) { // less than a second elsewhere
		return
	}
	all := append(slices.Clone(cluster.Places()), Place{before.Group, moved})
	all = all[max(len(all)-maxPlaces, 0):]
	cluster.Left = &all
	for _, name := range l.book.names(cluster.ID) {
		o := Object{cluster.ID, name}
		r := l.book.find(o)
		receipt.Writes = r.cut(receipt.Writes, o, r.state(), unixSeconds(moved))
	}
}

// cut splits the last span and appends the writes. Later spans do not rejoin it.
func (h *history) cut(writes []SpanWrite, o Object, s State, at uint32) []SpanWrite {
	if h.open.since == 0 || at <= h.open.since {
		return writes
	}
	ended := Span{Since: timeOf(h.open.since), Until: timeOf(at)}
	h.before = mark{}
	h.open.since, h.open.late = at, false
	begun := h.open.span()
	begun.Message, begun.Plan, begun.App = s.Message, s.Plan, s.App
	return append(writes, SpanWrite{o, EndSpan, ended}, SpanWrite{o, BeginSpan, begun})
}
