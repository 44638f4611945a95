// Package fleetview answers what people ask about the clusters of all environments: from the ledger
// in memory how they stand now, and from its store what was.
//
// What the package keeps true: the daemon and the commands give the same answers; a list is answered in
// parts of at most [MaxItems], in an order that new items do not disturb; a name that is not known is an
// error that says which ones are like it; nothing is written.
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

// MaxItems is how many items a part of a list has at most.
const MaxItems = 1000

// View answers questions. Any number of goroutines may ask.
type View struct {
	Ledger *recorder.Recorder
	// Ask calls question with the store.
	Ask func(ctx context.Context, question func(*ledgerdb.Store) error) error
	// Now is the clock by which a question about the last days is answered.
	Now func() time.Time

	memory assignedMemory
}

// Query is what a question is about. What it does not name is everything.
type Query struct {
	Environment, Other      string // Other is what Environment is compared with
	Type, Cluster, Workload string
	Standing                string // only clusters that stand so
	Since, At               time.Time
	After                   string // the Next of the part before
	Limit                   int
}

// Page is a part of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// Next is the parameter after of the next part; "" for the last one.
	Next string `json:"next,omitempty"`
}

// question is what can be asked, and the parameters that it has.
type question struct {
	answer             func(ctx context.Context, q Query) (any, error)
	required, optional []string
	title, about       string
	of                 any // an example of the type of the answer
}

// questions returns all questions, by their names.
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

// newQuestion returns a question that answers with values of a type.
func newQuestion[T any](find func(ctx context.Context, q Query) (T, error), title, about string, required []string, optional ...string) question {
	var of T
	return question{func(ctx context.Context, q Query) (any, error) { return find(ctx, q) }, required, optional, title, about, of}
}

// Description describes a question, for the description of the API.
type Description struct {
	Name, Title, About string
	Parameters         []string // those that it requires, and then the others
	Answer             any      // an example of its type
}

// Describe returns the descriptions of all questions, by name.
func Describe() (all []Description) {
	questions := (*View)(nil).questions()
	for _, name := range Names() {
		q := questions[name]
		all = append(all, Description{name, q.title, q.about, slices.Concat(q.required, q.optional), q.of})
	}
	return all
}

// Names returns the names of all questions.
func Names() []string { return slices.Sorted(maps.Keys((*View)(nil).questions())) }

// Answer answers the question of a name. The error is an *UnknownError for a name that is not known,
// and a *QueryError for parameters that the question does not have.
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

// UnknownError is the error for a name that is not known.
type UnknownError struct {
	Kind, Name string
	Known      []string
}

// Error says which name is not known.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no %s %s", e.Kind, strconv.Quote(e.Name))
}

// maxListed is how many names are listed of which none is like the one that is not known.
const maxListed = 10

// Hint says which name may be meant, or which ones there are.
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

// QueryError is the error for parameters that a question does not have.
type QueryError struct{ text, hint string }

// Error says what is wrong.
func (e *QueryError) Error() string { return e.text }

// Hint says what would be right.
func (e *QueryError) Hint() string { return e.hint }
