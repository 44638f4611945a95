// Package fleetview answers queries about clusters, from the ledger in memory and the history in
// its store.
//
// The daemon and the commands give the same answers. Pages have at most [MaxItems] in a stable
// order. An unknown name is an error with similar names. Nothing is written.
package fleetview

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// MaxItems limits a page.
const MaxItems = 1000

// View answers queries. It is safe for concurrent use.
type View struct {
	Ledger *recorder.Recorder
	Ask    func(ctx context.Context, question func(*ledgerdb.Store) error) error
	// Now is the clock for queries about recent days.
	Now func() time.Time

	memory assignedMemory
}

// Query selects what a query is about; zero selects everything.
type Query struct {
	Environment, Other      string
	Type, Cluster, Workload string
	Standing                string
	Since, At               time.Time
	After                   string // Next of the previous page
	Limit                   int
}

// Page is a part of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// Next is the parameter after of the next page; "" on the last.
	Next string `json:"next,omitempty"`
}

type question struct {
	answer             func(ctx context.Context, q Query) (any, error)
	required, optional []string
	title, about       string
	of                 any // an example of the answer's type
}

func (v *View) questions() map[string]question {
	return map[string]question{
		"clusters": newQuestion(v.FindClusters, "The clusters, and the status of each", "What `fairlead fleet clusters` prints, environment by environment, by the names of the clusters.",
			nil, "environment", "type", "cluster", "standing", "limit", "after"),
		"standing": newQuestion(v.FindStandings, "How many clusters of each environment are ready", "What `fairlead fleet` prints: the clusters of each environment compared with its newest output.", nil, "environment"),
		"behind": newQuestion(v.FindBehind, "The clusters of an environment that are not ready, and why", "What `fairlead fleet behind` prints, in the order of the causes.",
			[]string{"environment"}, "type", "cluster", "standing", "limit", "after"),
		"where": newQuestion(v.FindPlacements, "Where a workload runs", "What `fairlead fleet where` prints: which version runs on which cluster, now or at a time, by objects and clusters.",
			[]string{"workload"}, "environment", "type", "cluster", "at", "limit", "after"),
		"history": newQuestion(v.FindHistories, "What a workload ran", "What `fairlead fleet history` prints: each object of each cluster from its first report, the oldest first.",
			[]string{"workload"}, "environment", "type", "cluster", "limit", "after"),
		"compare": newQuestion(v.Compare, "What two environments run", "What `fairlead fleet compare` prints, by the names of objects.", []string{"environment", "with"}, "workload", "limit", "after"),
		"lead": newQuestion(v.FindLeadTimes, "How long outputs took to the clusters", "What `fairlead fleet lead-time` prints, the newest output first. An output counts only for the clusters of the types whose folder it changed.",
			[]string{"environment"}, "since", "limit", "after"),
		"dora": newQuestion(v.FindMonths, "The four figures of DORA, by month", "What `fairlead fleet dora` prints, by environment and month of UTC. Months without an output have figures too, from the first one on.",
			nil, "environment", "since", "limit", "after"),
		"drift": newQuestion(v.FindDrift, "What differs on clusters from what is wanted", "What `fairlead fleet drift` prints: objects that are missing, that should be gone, or that were changed on the cluster.",
			[]string{"environment"}, "type", "cluster", "limit", "after"),
		"refusals": newQuestion(v.FindRefusals, "Which reports were refused", "What `fairlead fleet refusals` prints, by the cluster that the reports claimed to be of, and by reason.", nil, "since", "cluster", "limit", "after"),
	}
}

func newQuestion[T any](find func(ctx context.Context, q Query) (T, error), title, about string, required []string, optional ...string) question {
	var of T
	return question{func(ctx context.Context, q Query) (any, error) { return find(ctx, q) }, required, optional, title, about, of}
}

// Description describes a query for the API.
type Description struct {
	Name, Title, About string
	Parameters         []string // required ones first
	Answer             any
}

// Describe returns the descriptions of all queries, by name.
func Describe() (all []Description) {
	questions := (*View)(nil).questions()
	for _, name := range Names() {
		q := questions[name]
		all = append(all, Description{name, q.title, q.about, slices.Concat(q.required, q.optional), q.of})
	}
	return all
}

// Names returns the sorted names of all queries.
func Names() []string { return slices.Sorted(maps.Keys((*View)(nil).questions())) }

// Answer answers a query by name. Errors include *UnknownError and *QueryError.
func (v *View) Answer(ctx context.Context, name string, values url.Values) (any, error) {
	asked, ok := v.questions()[name]
	if !ok {
		return nil, &UnknownError{"question", name, Names()}
	}
	q, err := asked.parseQuery(values)
	if err != nil {
		return nil, err
	}
	return asked.answer(ctx, q)
}

// UnknownError is the error for an unknown name.
type UnknownError struct {
	Kind, Name string
	Known      []string
}

// Error names the unknown name.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no %s %s", e.Kind, strconv.Quote(e.Name))
}

const maxListed = 10

// Hint suggests a similar name, or lists the known ones.
func (e *UnknownError) Hint() string {
	known := slices.DeleteFunc(slices.Clone(e.Known), func(name string) bool { return name == "" })
	near := problem.DidYouMean(e.Name, known)
	switch {
	case near != "":
		return near
	case len(known) == 0:
		return "the ledger knows none yet"
	case len(known) <= maxListed:
		return fmt.Sprintf("the %ss are %s", e.Kind, text.Join(known, " and "))
	case e.Kind == "environment":
		return "fairlead fleet lists those that the ledger knows"
	case e.Kind == "workload":
		return "fairlead fleet compare lists those of two environments"
	}
	return "fairlead fleet clusters lists all that the ledger knows"
}

// QueryError is the error for invalid parameters.
type QueryError struct{ text, hint string }

// Error describes the mistake.
func (e *QueryError) Error() string { return e.text }

// Hint describes the correct form.
func (e *QueryError) Hint() string { return e.hint }
