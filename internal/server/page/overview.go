package page

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// overviewView is the data of overview.html.
type overviewView struct {
	answer.Overview
	Time chainView
	// Others are needs that are about no environment that is shown.
	Others []answer.Need
	// Acts reports whether something may wait for the reader.
	Acts bool
	// History reports whether there is a page of what was done.
	History bool
}

func newOverviewView(a answer.Overview, f Frame) overviewView {
	v := overviewView{Overview: a, Acts: f.Acts, History: f.History}
	v.Time, v.Others = newChainView(a.Timeline, a.Environments, a.Needs, f)
	return v
}

// needActions is what the reader may do about what an environment needs.
type needActions struct {
	Need   answer.Need
	Levers []LeverLink
}

func newNeedActions(n answer.Need, may []LeverLink) needActions {
	a := needActions{Need: n}
	for _, name := range n.Levers {
		i := slices.IndexFunc(may, func(l LeverLink) bool { return l.Lever == name && (l.Allowed || l.Idle && n.Wave != "") })
		if i >= 0 {
			a.Levers = append(a.Levers, may[i])
		}
	}
	return a
}

// Commands returns the commands that do something about the need, for those who have no buttons: first of all the one
// that ends it.
func (a needActions) Commands() (all []string) {
	if a.Need.Stack != "" {
		return nil
	}
	for _, name := range a.Need.Levers {
		switch {
		case (name == "merge" || name == "reopen") && a.Need.Pull != nil && a.Need.Pull.URL == "": // without a page at a forge
			all = append(all, fmt.Sprintf("fairlead pr %s %d", name, a.Need.Pull.Number))
		case a.Need.Wave != "":
			all = append(all, "fairlead approve "+a.Need.Environment+" --wave "+text.QuoteShell(a.Need.Wave)+" --reason TEXT")
		case name == "approve" || name == "release" || name == "rollback":
			all = append(all, "fairlead "+name+" "+a.Need.Environment+" --reason TEXT")
		}
	}
	return all[:min(len(all), 1)]
}

type pastOverviewView struct {
	answer.PastOverview
	Time    chainView
	History bool // whether there is a page of what was done
}

func newPastOverviewView(a answer.PastOverview, f Frame) pastOverviewView {
	v := pastOverviewView{PastOverview: a, History: f.History}
	v.Time, _ = newChainView(a.Timeline, a.Environments, a.Needs, f)
	return v
}
