package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// findStack returns the stack of a path, as find shows it. A name that several environments have leads to a list of
// them, unless the query says which one is asked for.
func findStack(src answer.Source, q request, find func(answer.Stack) found) found {
	name := q.names[0] + "/" + q.names[1]
	environments := src.FindStackEnvironments(name)
	environment := q.query.Get("env")
	switch {
	case environment == "" && len(environments) > 1:
		return redirectTo("stacks?q=" + url.QueryEscape(name))
	case environment == "" && len(environments) == 1:
		environment = environments[0]
	}
	one, ok := src.Stack(environment, name)
	switch {
	case ok:
		return find(one)
	case len(environments) > 0:
		return findEnvironmentOf(src, environment, name)
	}
	missing := answerUnknown("stack", name, src.StackNames(), "stacks")
	if m, is := missing.answer.(missingAnswer); is && m.Nearest != "" {
		m.Nearest = strings.ReplaceAll(m.Nearest, "%2F", "/")
		missing.answer = m
	}
	return missing
}

// findRun returns a plan of a stack, with who approved it: the one that has this id, and never another one in its place.
func (s *site) findRun(ctx context.Context, src answer.Source, q request) found {
	return s.addApproval(ctx, findStack(src, q, func(of answer.Stack) found {
		run, ok := src.Run(of.Environment, of.StackPart.Stack, q.names[2])
		if ok {
			return newFound(run)
		}
		missing := errorAnswer{fmt.Sprintf("%s in %s has no plan %q", of.StackPart.Stack, of.Environment, q.names[2]), "no cluster has sent it, or others were sent since: the page of the stack leads to those that are kept"}
		return found{answer: missingAnswer{missing, "stacks", ""}, code: http.StatusNotFound}
	}))
}

func findEnvironmentOf(src answer.Source, environment, stack string) found {
	if _, known := src.Environment(environment); !known {
		return findEnvironment(src, environment)
	}
	return answerMissing("environment "+environment+" has no stack "+stack, api+stacksPath+"?q="+stack+" lists those of that name")
}

// stackCache keeps what clusters say of stacks. The zero value is ready.
type stackCache struct {
	mu    sync.Mutex
	made  time.Time
	state uint64 // the version of the state that it was made of
	known map[answer.StackObject][]stackview.Report
}

func (s *site) readStackReports(src answer.Source) map[answer.StackObject][]stackview.Report {
	if s.options.Fleet == nil {
		return nil
	}
	state, _ := s.options.Store.Version()
	c := &s.stacks
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.options.Now()
	if c.known != nil && c.state == state && now.Sub(c.made) < cachedFor {
		return c.known
	}
	objects, environments := src.ListStackObjects(), map[string]bool{}
	for o := range objects {
		environments[o.Environment] = true
	}
	known := map[answer.StackObject][]stackview.Report{}
	for environment := range environments {
		s.options.Fleet.Ledger.VisitObjects(environment, func(cluster *ledger.Cluster, object string, of ledger.State, since time.Time) {
			parts := strings.Split(object, "/")
			if len(parts) != 3 || !objects[answer.StackObject{Environment: environment, Namespace: parts[1], Name: parts[2]}] {
				return
			}
			key := answer.StackObject{Environment: environment, Namespace: parts[1], Name: parts[2]}
			known[key] = append(known[key], stackview.Report{Cluster: cluster.Name(), Object: object, Phase: of.Phase.String(), Revision: of.Revision, Since: since, Message: of.Message, Plan: of.Plan})
		})
	}
	c.known, c.made, c.state = known, now, state
	return known
}

func (s *site) addStackSpans(ctx context.Context, src answer.Source, q request) answer.Source {
	if !src.Ledger || src.LedgerFails {
		return src
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	src.StackSpans = map[answer.StackObject][]answer.StackSpan{}
	for object, reported := range src.ListReported(q.names[0] + "/" + q.names[1]) {
		for _, of := range reported {
			spans, err := s.options.Fleet.FindSpans(ctx, object.Environment, of.Cluster, of.Name, s.options.Now().Add(-answer.RunsKept))
			if err != nil {
				s.options.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.Any("error", err))
				src.LedgerFails = true
				return src
			}
			for _, span := range spans {
				src.StackSpans[object] = append(src.StackSpans[object], answer.StackSpan{Cluster: of.Cluster, Span: span})
			}
		}
	}
	return src
}

func (s *site) addApproval(ctx context.Context, f found) found {
	run, isRun := f.answer.(answer.StackRun)
	if !isRun || s.options.History == nil {
		return f
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	all, err := s.loadHistory(ctx)
	if err != nil { // what became of it is known all the same
		s.options.Logger.WarnContext(ctx, "the history cannot be read, and who approved a plan is not known", slog.Any("error", err))
	}
	title := actions.PlanTitle(run.Environment, run.Stack, run.Component.Name, run.Plan)
	for _, e := range all.Entries {
		isOfPlan := e.Title == title || strings.HasPrefix(e.Title, title+" (#") // as forges squash pull requests
		if isOfPlan && run.MayBeApproved(e.Time) {
			run.SetApproval(answer.RunApproval{Who: e.Who, When: e.Time, Commit: e.Commit})
			f.answer = run
			break
		}
	}
	return f
}
