package answer

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Inbox is the answer of /api/v1/waiting: all that stays as it is until a person acts.
type Inbox struct {
	// For is "me" for what the person who asks may do something about; "" for all.
	For string `json:"for,omitempty"`
	// SignedIn reports whether it is known who asks.
	SignedIn bool        `json:"signedIn"`
	Items    []InboxItem `json:"items"`
	// Total is how many there are for everybody.
	Total int `json:"total"`
}

// InboxItem is one thing that waits.
type InboxItem struct {
	Need Need `json:"need"`
	// Levers are what the person who asks may do about it; none for nobody.
	Levers []string `json:"levers"`
	// Done is why the person can do nothing about it that another person can; "" for no reason.
	Done string `json:"done,omitempty"`
}

// Reader is who asks what waits.
type Reader struct {
	// Person is who asks; nil for nobody.
	Person *gate.Person
	// May reports whether the person may use a lever in an environment.
	May func(lever, environment string) bool
}

// Inbox returns what waits for people; forMe leaves out what the reader cannot do anything about.
func (s Source) Inbox(r Reader, forMe bool) Inbox {
	needs := s.Needs()
	w := Inbox{SignedIn: r.Person != nil, Items: []InboxItem{}, Total: len(needs)}
	if forMe {
		w.For = "me"
	}
	for _, n := range needs {
		item := s.newInboxItem(n, r)
		if !forMe || len(item.Levers) > 0 {
			w.Items = append(w.Items, item)
		}
	}
	return w
}

func (s Source) newInboxItem(n Need, r Reader) InboxItem {
	item := InboxItem{Need: n, Levers: []string{}}
	if r.Person == nil || n.Environment == "" {
		return item
	}
	for _, lever := range n.Levers {
		if !r.May(lever, n.Environment) {
			continue
		}
		if lever == "approve" && n.Wave == "" {
			stage, _ := s.Snapshot.Chain.FindStage(n.Environment)
			item.Done = stage.Next.Verdict.RefuseApprover(*r.Person)
			if item.Done != "" {
				continue
			}
		}
		item.Levers = append(item.Levers, lever)
	}
	return item
}

// findHelpfulLevers returns the levers by which a person may end what an environment waits for.
func (s Source) findHelpfulLevers(e Environment, stage status.Stage) (all []string) {
	report, _ := s.Snapshot.FindEnvironment(e.Name)
	if report.State != status.Declined && slices.ContainsFunc(report.Withheld, func(w status.Withheld) bool { return w.Acknowledge != "" }) {
		all = append(all, "approve-removals")
	}
	if waitsForApproval(stage) {
		all = append(all, "approve")
	}
	if e.isFrozen() {
		all = append(all, "end")
	}
	if e.Pull != nil && report.State == status.Proposed && !e.isHeld() {
		all = append(all, "merge")
	}
	switch {
	case e.isHeld():
		all = append(all, "release")
	case e.Promoted && e.State.Tone == Bad && stage.HadNothingBefore():
		all = append(all, "hold")
	case e.Promoted && e.State.Tone == Bad:
		all = append(all, "rollback", "hold")
	case e.Pull != nil && report.State == status.Declined:
		all = append(all, "reopen")
	}
	return all
}
