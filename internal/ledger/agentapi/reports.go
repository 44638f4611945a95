package agentapi

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Contact returns a request as a contact, without what only the receiver knows: the name of its key
// and the place of its cluster.
func (r Request) Contact(received time.Time) ledger.Contact {
	every, _ := time.ParseDuration(r.Every)
	c := ledger.Contact{
		Name: r.Cluster, UID: r.UID, Every: every, Boot: r.Boot, Sequence: r.Sequence, Sent: r.Sent, Received: received,
		Scope: ledger.Nothing, Digest: r.Digest, Base: r.Base, Gone: r.Gone,
		Unread: list.Convert(r.Unread, func(u Unread) string { return u.Kind }),
	}
	if i := slices.IndexFunc(r.Entries, func(e Entry) bool { return e.HeldUp }); i >= 0 {
		c.HeldUp = r.Entries[i].ObjectName()
	}
	switch {
	case r.Full:
		c.Scope = ledger.Everything
	case r.Base != "":
		c.Scope = ledger.Changes
	}
	return c
}

// Reports returns each entry's past states with their ends, the start of its phase, and its current
// state, shifted by shift.
func (r Request) Reports(shift time.Duration) []ledger.Report {
	var all []ledger.Report
	for _, e := range r.Entries {
		all = append(all, e.reports(r.Sent, shift)...)
	}
	return all
}

func (e Entry) reports(sent time.Time, shift time.Duration) []ledger.Report {
	now := ledger.Report{
		Object: ledger.Object{Name: e.ObjectName()}, Phase: e.phase(), Message: e.Message, Plan: e.Plan, Level: true, Said: sent.Add(shift),
	}
	runs := cmp.Or(e.Origin, e.Revision)
	now.Runs = ledger.ParseRevision(runs).String()
	now.Target = ledger.ParseRevision(cmp.Or(e.AttemptedOrigin, e.Attempted, runs)).String()
	if now.Phase != ledger.Ready || now.Target == now.Runs {
		now.App = e.App
	}
	if now.Phase == ledger.Ready {
		now.Runs = ""
		if now.Target == "" { // it runs an unknown revision
			now.Phase = ledger.Unknown
		}
	}
	var all []ledger.Report
	for _, p := range slices.SortedFunc(slices.Values(e.Past), func(a, b Past) int { return a.First.Compare(b.First) }) {
		all = append(all, p.report(now.Object, sent, shift)...)
	}
	n := len(all)
	if n > 0 && now.Phase == ledger.Waiting && all[n-1].Target == now.Target && all[n-1].Phase == ledger.Failed {
		all[n-1].Phase = ledger.Waiting // Flux reports a failure meanwhile
	}
	lasts := n > 0 && all[n-1].Phase == now.Phase && all[n-1].Target == now.Target
	if lasts {
		all[n-1].Message = now.Message
	}
	then := now
	if !e.Since.IsZero() && e.Since.Before(sent) {
		then.Said = e.Since.Add(shift)
		all = append(all, then)
	}
	for i := range n {
		switch {
		case i+1 < n:
			all[i].Until = all[i+1].Said
		case !lasts && then.Said.After(all[i].Said):
			all[i].Until = then.Said
		default:
			all[i].Until = now.Said
		}
	}
	return append(all, now)
}

func (p Past) report(o ledger.Object, sent time.Time, shift time.Duration) []ledger.Report {
	if p.First.IsZero() || p.Revision == "" || !p.First.Before(sent) {
		return nil
	}
	r := ledger.Report{Object: o, Phase: ledger.Failed, Target: ledger.ParseRevision(p.Revision).String(), Level: true, Said: p.First.Add(shift)}
	if p.Ready {
		r.Phase = ledger.Ready
	}
	return []ledger.Report{r}
}
