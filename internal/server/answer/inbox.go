package answer

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
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
	// Done is what the person has done about it already; "" for nothing.
	Done string `json:"done,omitempty"`
}

// Reader is who asks what waits.
type Reader struct {
	// Names are the address and the login of the person; none for nobody.
	Names []string
	// May reports whether the person may use a lever in an environment.
	May func(lever, environment string) bool
}

// Inbox returns what waits for people; forMe leaves out what the reader cannot do anything about.
func (s Source) Inbox(r Reader, forMe bool) Inbox {
	needs := s.Needs()
	w := Inbox{SignedIn: len(r.Names) > 0, Items: []InboxItem{}, Total: len(needs)}
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
	if len(r.Names) == 0 || n.Environment == "" {
		return item
	}
	for _, lever := range n.HelpfulLevers() {
		if !r.May(lever, n.Environment) {
			continue
		}
		if lever == "approve" {
			stage, _ := s.Snapshot.Chain.FindStage(n.Environment)
			if !waitsForApproval(stage) {
				continue
			}
			item.Done = findOpinion(stage.Next.Verdict, r.Names)
			if item.Done != "" {
				continue
			}
		}
		item.Levers = append(item.Levers, lever)
	}
	return item
}

// HelpfulLevers returns the levers by which a person may end what waits.
func (n Need) HelpfulLevers() []string {
	switch n.State.Tone {
	case Bad:
		return []string{"rollback", "hold"}
	case Waiting:
		return []string{"approve"}
	}
	return nil
}

// findOpinion returns what a gate that counts approvals says of a person already: that they approved, or that
// they are an author; "" for nothing. What is missing, which may name them too, comes first.
func findOpinion(v gate.Verdict, names []string) string {
	for _, p := range v.Parts {
		found := findOpinion(p, names)
		if found != "" {
			return found
		}
	}
	if len(v.Parts) > 0 || !strings.Contains(v.Reason, "approval") {
		return ""
	}
	for _, clause := range strings.Split(v.Reason, "; ")[1:] {
		if !strings.HasPrefix(clause, "approved by ") && !strings.HasSuffix(clause, "is an author of what is approved") {
			continue // others may have written it in the person's name
		}
		for _, word := range strings.Fields(strings.ReplaceAll(clause, ",", " ")) {
			for _, name := range names {
				if name != "" && strings.EqualFold(word, name) {
					return clause
				}
			}
		}
	}
	return ""
}
