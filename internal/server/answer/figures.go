package answer

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// FigureDays is of how many days there are figures, and figureWeeks how many parts they have.
const FigureDays, figureWeeks = 91, 13

// Figures is the answer of /api/v1/history/figures: how long commits take to environments, and how many are taken
// back, from Git alone.
type Figures struct {
	Since        time.Time            `json:"since"`
	Until        time.Time            `json:"until"`
	Environments []EnvironmentFigures `json:"environments"`
	// Unread are environments whose output was not read, so that their deployments are not known.
	Unread []string `json:"unread,omitempty"`
}

// EnvironmentFigures are the figures of an environment: all of them, and week by week.
type EnvironmentFigures struct {
	Environment string `json:"environment"`
	Figure
	Weeks []Figure `json:"weeks"`
}

// Figure is what counts of a part of time.
type Figure struct {
	Start time.Time `json:"start"`
	// Deployments are the commits whose output was merged, and Failed those that a rollback took back.
	Deployments int `json:"deployments"`
	Failed      int `json:"failed"`
	// Lead is the median of the seconds from a commit until its output was merged; nil if there was none.
	Lead *int `json:"leadSeconds,omitempty"`
}

// Figures returns the figures of environments in the days before a time, of what was done.
func (s Source) Figures(all history.Log, now time.Time) Figures {
	until := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	since := until.AddDate(0, 0, -FigureDays)
	answer := Figures{Since: since, Until: until, Environments: []EnvironmentFigures{}}
	for _, name := range s.Names() {
		deployments, isRead := all.Deployments[name]
		if !isRead {
			answer.Unread = append(answer.Unread, name)
			continue
		}
		deliveries := history.ListDeliveries(all.Entries, deployments, name)
		one := EnvironmentFigures{Environment: name, Figure: newFigure(ledger.SummarizeBetween(deliveries, since, until))}
		for week := range figureWeeks {
			start := since.AddDate(0, 0, 7*week)
			one.Weeks = append(one.Weeks, newFigure(ledger.SummarizeBetween(deliveries, start, start.AddDate(0, 0, 7))))
		}
		answer.Environments = append(answer.Environments, one)
	}
	return answer
}

func newFigure(m ledger.Month) Figure {
	f := Figure{Start: m.Start, Deployments: m.Deployments, Failed: m.Failed}
	if m.Lead >= 0 {
		f.Lead = new(int(m.Lead / time.Second))
	}
	return f
}
