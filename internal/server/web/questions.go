package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

const (
	// maxQuestions is how many questions may begin within a minute, for a cycle waits for them.
	maxQuestions = 60
	// questionTimeout bounds one, with its wait for the cycle that runs.
	questionTimeout = 20 * time.Second
	// maxAnswer bounds the text of an answer.
	maxAnswer = 256 << 10
)

func (s *site) findExplanation(ctx context.Context, src answer.Source, q request) found {
	environment, asked := q.query.Get("env"), q.query.Get("q")
	if environment == "" || asked == "" {
		return failWith(http.StatusBadRequest, "the query does not say what to explain", "write /api/v1/explain?env=ENVIRONMENT&q=NAME")
	}
	if len(asked) > maxQuery {
		return failWith(http.StatusBadRequest, "the question is too long", "ask with a name")
	}
	return s.answerQuestion(ctx, q, func(ctx context.Context) (any, error) {
		document, err := s.options.Explain(ctx, environment, asked)
		return src.Explanation(environment, asked, document, maxAnswer), err
	})
}

func (s *site) findDifferences(ctx context.Context, src answer.Source, q request) found {
	from, to := q.query.Get("from"), q.query.Get("to")
	for _, name := range []string{from, to} {
		_, known := src.Environment(name)
		switch {
		case name == "":
			return failWith(http.StatusBadRequest, "the query does not say what to compare", "write /api/v1/diff?from=ENVIRONMENT&to=ENVIRONMENT")
		case !known:
			return findEnvironment(src, name)
		}
	}
	return s.answerQuestion(ctx, q, func(ctx context.Context) (any, error) {
		report, err := s.options.Compare(ctx, from, to)
		return src.Differences(report, q.query.Get("kind"), maxAnswer), err
	})
}

// answerQuestion returns the answer to a question that is work, unless too many began.
func (s *site) answerQuestion(ctx context.Context, q request, find func(context.Context) (any, error)) found {
	refusal, refused := s.admitQuestion()
	if refused {
		return refusal
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	of, err := find(ctx)
	if err != nil {
		return s.refuseAnswer(ctx, q.path, err)
	}
	return newFound(of)
}

// findRetired returns what was done last to an environment that is not there any more; f if nothing was.
func (s *site) findRetired(ctx context.Context, f found, name string) found {
	if s.options.History == nil {
		return f
	}
	if _, refused := s.admitQuestion(); refused {
		return f
	}
	all, err := s.options.History(ctx)
	last := slices.IndexFunc(all.Entries, func(e history.Entry) bool { return e.Environment == name })
	if err != nil || last < 0 {
		return f
	}
	e := all.Entries[last]
	sentence := fmt.Sprintf("there is no environment %q any more: the last that was done there is %q by %s, at %s, in commit %s", name, answer.CleanText(e.Title), answer.CleanText(e.Who), e.Time.UTC().Format(time.RFC3339), e.Commit)
	return found{answer: missingAnswer{errorAnswer{sentence, api + "/environments lists those that there are"}, "environments", ""}, code: http.StatusNotFound}
}

func (s *site) admitQuestion() (found, bool) {
	if s.questions.admit(s.options.Now(), maxQuestions) == 0 {
		return found{}, false
	}
	return failWith(http.StatusTooManyRequests, fmt.Sprintf("%d questions began within a minute, which is the most", maxQuestions), "ask again in a minute"), true
}

func (s *site) findPull(ctx context.Context, src answer.Source, q request) found {
	name, number := q.names[0], q.names[1]
	_, known := src.Environment(name)
	n, err := strconv.Atoi(number)
	one, ok := src.Pull(name, n)
	switch {
	case ok:
		return newFound(one)
	case !known:
		return findEnvironment(src, name)
	case err != nil || n <= 0:
		return answerMissing(fmt.Sprintf("environment %q has no pull request %q", name, number), "pull requests have numbers")
	}
	return s.findPastPull(ctx, src, q, n)
}

// findPastPull returns what a pull request meant that was merged or closed, or what one changes that problems keep from
// being updated.
func (s *site) findPastPull(ctx context.Context, src answer.Source, q request, number int) found {
	name := q.names[0]
	if s.options.Pull == nil {
		return answerMissing(fmt.Sprintf("environment %q has no open pull request %q", name, strconv.Itoa(number)), "its forge knows those that were merged")
	}
	refusal, refused := s.admitQuestion()
	if refused {
		return refusal
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	past, err := s.options.Pull(ctx, name, number)
	if err != nil {
		return s.refuseAnswer(ctx, q.path, err)
	}
	if past.State == forge.Open && !src.IsStalePull(name, number) { // since the last cycle
		return answerMissing(fmt.Sprintf("what pull request %d changes is not known yet", number), "the next cycle finds it")
	}
	return newFound(src.PastPull(name, past))
}

func (s *site) refuseAnswer(ctx context.Context, path string, err error) found {
	var unknown *explain.QueryError
	var hinted interface{ Hint() string }
	switch {
	case errors.As(err, &unknown):
		return failWith(http.StatusNotFound, unknown.Summary, unknown.Hint)
	case errors.Is(err, context.DeadlineExceeded):
		return failWith(http.StatusServiceUnavailable, "a cycle runs, and the question waits for its end", "ask again in a minute")
	case errors.As(err, &hinted):
		return failWith(http.StatusConflict, err.Error(), hinted.Hint())
	}
	s.options.Logger.WarnContext(ctx, "a question has no answer", slog.String("path", path), slog.Any("error", err))
	return failWith(http.StatusServiceUnavailable, "the question has no answer now: "+answer.CleanText(err.Error()), "the log of the daemon says why")
}
