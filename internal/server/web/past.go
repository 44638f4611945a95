package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// Past answers questions about moments in the past. All must write nothing, and allow many calls at once.
type Past struct {
	Explain func(ctx context.Context, environment string, at history.Moment, query string) (explain.Document, history.Output, error)
	Compare func(ctx context.Context, from, to history.Place) (drift.Report, []history.Output, error)
	Plan    func(ctx context.Context, environment string, at history.Moment) (*schedule.Plan, history.Output, error)
	// Changes returns two outputs.
	Changes func(ctx context.Context, environment string, from, to history.Moment) (impact.Report, []history.Output, error)
	// Chain returns how far commits had been promoted at a time, and the outputs of all environments of then.
	Chain func(ctx context.Context, at time.Time) (status.Chain, []history.Output, error)
	// Time returns when the commit of a moment was made or merged.
	Time func(ctx context.Context, at history.Moment) (time.Time, error)
}

const (
	// maxPastWork is how many answers about the past are made at once, and maxPastKept how many are kept.
	maxPastWork, maxPastKept = 2, 64
	// pastPatience is how long a request waits for one, and pastTimeout how long that may take.
	pastPatience, pastTimeout = 2 * time.Second, time.Minute
	// pastSettles is how long after a moment what there was may still become known: clusters and forges tell it late.
	pastSettles = time.Hour
	// pastAgain is how many seconds later a page that waits loads again.
	pastAgain = 3
)

// presentAlone says that a page has no past, and pastHint which pages have one.
const (
	presentAlone = "this page shows the present alone"
	pastHint     = "leave out at; the overview, commits, history, explain, diff, environments, fleet, map, workloads, assignments and cluster-types have a past"
)

// pastWork makes answers about the past, and keeps them. The zero value is ready.
type pastWork struct {
	mu      sync.Mutex
	running int
	kept    map[string]*pastAnswer
}

// pastAnswer is an answer that is there once done is closed.
type pastAnswer struct {
	done chan struct{}
	made found
}

// find returns the answer of a key, which answer makes beside the request, unless it is kept; false if it is not there
// in time.
func (p *pastWork) find(key string, patience time.Duration, answer func() found) (found, bool) {
	one := p.start(key, answer)
	if one == nil {
		return found{}, false
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-one.done:
		return one.made, true
	case <-timer.C:
		return found{}, false
	}
}

// start returns the answer of a key, and begins to make it if that was not begun; nil if as many are made as may be.
func (p *pastWork) start(key string, answer func() found) *pastAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.kept[key]; one != nil {
		return one
	}
	if p.running >= maxPastWork {
		return nil
	}
	if p.kept == nil || len(p.kept) >= maxPastKept {
		p.kept = map[string]*pastAnswer{}
	}
	one := &pastAnswer{done: make(chan struct{})}
	p.kept[key] = one
	p.running++
	go func() {
		one.made = answer()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.running--
		if one.made.code >= http.StatusTooManyRequests && p.kept[key] == one { // it may succeed when it is asked again
			delete(p.kept, key)
		}
		close(one.done)
	}()
	return one
}

func (s *site) findPast(ctx context.Context, src answer.Source, q request) found {
	if q.row.path == environmentsPath && q.query.Get("state") != "" {
		return failWith(http.StatusBadRequest, "environments of the past have no state", "leave out state")
	}
	environment := q.query.Get("env")
	if q.row.path == environmentPath {
		environment = q.names[0]
	}
	from, refusal, refused := s.readPlace(src, environment, q.query.Get("at"))
	to := history.Place{}
	if q.row.path == diffPath {
		from, refusal, refused = s.readSide(src, q.query.Get("from"), q.query.Get("at"))
		if !refused {
			to, refusal, refused = s.readSide(src, q.query.Get("to"), q.query.Get("at"))
		}
	}
	if refused {
		return refusal
	}
	key := q.key()
	if q.row.path == diffPath && (from.At == (history.Moment{}) || to.At == (history.Moment{})) {
		version, _ := s.options.Store.Version() // the present is a part of it
		key += fmt.Sprintf(" %d", version)
	}
	key += s.keyOf(from.At) + s.keyOf(to.At)
	return s.findMade(ctx, q.path, key, func(ctx context.Context) found { return s.makePast(ctx, src, q, from, to) })
}

// findPastExplanation is [site.findPast], or what to ask where nothing is asked.
func (s *site) findPastExplanation(ctx context.Context, src answer.Source, q request) found {
	if q.query.Get("q") == "" || q.query.Get("env") == "" {
		return s.findExplanation(ctx, src, q)
	}
	return s.findPast(ctx, src, q)
}

func (s *site) keyOf(at history.Moment) string {
	now := s.options.Now()
	if at.Time.Before(now.Add(-pastSettles)) {
		return ""
	}
	return now.Truncate(cachedFor).Format(time.RFC3339)
}

// findMade returns the answer of a key to a question about the past, or that it is still made.
func (s *site) findMade(ctx context.Context, path, key string, find func(context.Context) found) found {
	ctx = context.WithoutCancel(ctx)
	made, isThere := s.pastWork.find(key, s.options.PastPatience, func() (f found) {
		ctx, cancel := context.WithTimeout(ctx, pastTimeout)
		defer cancel()
		err := s.newBarrier(ctx).Run("answer", path, func() error { f = find(ctx); return nil })
		if err != nil {
			return s.refuseAnswer(ctx, path, err)
		}
		return f
	})
	if !isThere {
		return stillMade()
	}
	return made
}

func stillMade() found {
	return failWith(http.StatusAccepted, "the past is rendered again, which takes a while", fmt.Sprintf("ask again in %d s; the page does so by itself", pastAgain))
}

func (s *site) makePast(ctx context.Context, src answer.Source, q request, from, to history.Place) found {
	switch q.row.path {
	case explainPath:
		asked := q.query.Get("q")
		document, output, err := s.options.Past.Explain(ctx, from.Environment, from.At, asked)
		if err != nil {
			return s.refuseAnswer(ctx, q.path, err)
		}
		explanation := src.WithPast(nil, []history.Output{output}).Explanation(from.Environment, asked, document, maxAnswer)
		explanation.Past, explanation.Proposed = src.PastOutputs([]history.Output{output}), nil
		return newFound(explanation)
	case diffPath:
		report, outputs, err := s.options.Past.Compare(ctx, from, to)
		if err != nil {
			return s.refuseAnswer(ctx, q.path, err)
		}
		differences := src.Differences(report, q.query.Get("kind"), maxAnswer)
		differences.Past = src.PastOutputs(outputs)
		return newFound(differences)
	case environmentPath:
		src = s.addThen(ctx, src, from.At.Time)
		plan, output, err := s.options.Past.Plan(ctx, from.Environment, from.At)
		if err != nil {
			return s.refuseAnswer(ctx, q.path, err)
		}
		return newFound(src.PastEnvironment(output, plan))
	}
	return s.makePastPlans(ctx, s.addThen(ctx, src, from.At.Time), q, from)
}

// makePastPlans returns what there was at a moment at the path of a page about what is assigned.
func (s *site) makePastPlans(ctx context.Context, src answer.Source, q request, from history.Place) found {
	plans, outputs, failed := map[string]*schedule.Plan{}, []history.Output{}, error(nil)
	for _, name := range src.Names() {
		if from.Environment != "" && from.Environment != name {
			continue
		}
		plan, output, err := s.options.Past.Plan(ctx, name, from.At)
		if err != nil { // it may not have been there
			if failed == nil || isUnknown(failed) {
				failed = err
			}
			continue
		}
		plans[name], outputs = plan, append(outputs, output)
	}
	isList := q.row.path == environmentsPath
	switch {
	case len(plans) > 0 || failed == nil || isList && isUnknown(failed): // the list says of which environments nothing is known
	case from.Environment == "" && isUnknown(failed):
		return answerMissing("nothing is known of any environment at "+answer.CleanText(from.At.Text), "ask about a later moment; fairlead history ENVIRONMENT lists the commits that it had, and when")
	default:
		return s.refuseAnswer(ctx, q.path, failed)
	}
	if isList {
		return newFound(src.PastEnvironments(q.query.Get("at"), q.text(), outputs, plans))
	}
	f := q.row.read(src.WithPast(plans, outputs), q)
	if a, isOne := f.answer.(answer.Assignment); isOne && s.options.Fleet != nil && !from.At.Time.IsZero() {
		ran, err := s.options.Fleet.FindPastTargetRuns(ctx, a.Environment, a.ClusterType, a.Target, from.At.Time)
		if err != nil {
			s.options.Logger.WarnContext(ctx, "what clusters reported in the past cannot be read", slog.Any("error", err))
			a.LedgerFails = true
		}
		src.SetPastRuns(&a, ran)
		f.answer = a
	}
	return f
}

// isUnknown reports whether an error says that nothing is known of what was asked about.
func isUnknown(err error) bool {
	var unknown *explain.QueryError
	return errors.As(err, &unknown)
}

func (s *site) addThen(ctx context.Context, src answer.Source, at time.Time) answer.Source {
	if s.options.Fleet == nil || at.IsZero() {
		return src
	}
	then, err := s.options.Fleet.FindPastClusters(ctx, at)
	if err != nil {
		s.options.Logger.WarnContext(ctx, "what clusters reported in the past cannot be read", slog.Any("error", err))
		src.LedgerFails = true
	}
	src.Then = then
	return src
}

// readSide reads one side of a comparison: ENVIRONMENT, or ENVIRONMENT@MOMENT.
func (s *site) readSide(src answer.Source, side, at string) (history.Place, found, bool) {
	name, moment, isPast := strings.Cut(side, "@")
	if !isPast {
		moment = at
	}
	if name == "" {
		return history.Place{}, failWith(http.StatusBadRequest, "the query does not say what to compare", "write /api/v1/diff?from=ENVIRONMENT@MOMENT&to=ENVIRONMENT"), true
	}
	return s.readPlace(src, name, moment)
}

func (s *site) readPlace(src answer.Source, name, written string) (p history.Place, refusal found, refused bool) {
	p.Environment = name
	_, known := src.Environment(name)
	if name != "" && !known {
		return p, findEnvironment(src, name), true
	}
	if written == "" {
		return p, found{}, false
	}
	at, ok := history.ParseMoment(written[:min(len(written), maxQuery)])
	switch {
	case !ok:
		return p, failWith(http.StatusBadRequest, "the moment is no time and no commit", "write it as 2026-11-20, as yesterday 17:48, as 2h ago, as 2026-11-20T10:00:00Z, or as the id of a commit"), true
	case at.Time.After(s.options.Now().Add(24 * time.Hour)):
		return p, failWith(http.StatusBadRequest, "the moment is still to come", "/commits/COMMIT/forecast says what comes"), true
	}
	p.At = at
	return p, found{}, false
}

// pastText returns the moments that a request is about, for the strip of its page; "" if it is about none.
func pastText(q request) string {
	if !q.isPast() {
		return ""
	}
	var all []string
	for _, name := range []string{"from", "to"} {
		_, moment, isPast := strings.Cut(q.query.Get(name), "@")
		if q.row != nil && q.row.path == diffPath && isPast && !slices.Contains(all, moment) {
			all = append(all, moment)
		}
	}
	if at := q.query.Get("at"); at != "" {
		all = append(all, at)
	}
	return strings.Join(all, ", ")
}

func withoutPast(target *url.URL) string {
	query := target.Query()
	query.Del("at")
	for _, side := range []string{"from", "to"} {
		name, _, isPast := strings.Cut(query.Get(side), "@")
		if isPast {
			query.Set(side, name)
		}
	}
	if len(query) == 0 {
		return target.EscapedPath()
	}
	return target.EscapedPath() + "?" + query.Encode()
}
