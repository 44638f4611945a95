package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// The paths of questions that are rendered for. A page with such an answer does not follow the state.
const (
	explainPath = "/explain"
	diffPath    = "/diff"
)

const (
	// maxQuestions is how many questions may begin within a minute, for a cycle waits for them.
	maxQuestions = 60
	// questionTimeout bounds one, with its wait for the cycle that runs.
	questionTimeout = 20 * time.Second
	// maxAnswer bounds the text of an answer.
	maxAnswer = 256 << 10
)

func isQuestion(path string) bool {
	return path == explainPath || path == diffPath || path == historyPath || isForecast(path)
}

// hasQuestion reports whether a question can be answered.
func (s *site) hasQuestion(path string) bool {
	switch path {
	case historyPath:
		return s.options.History != nil
	case forecastPath:
		return s.options.Simulate != nil
	}
	return s.options.Explain != nil && s.options.Compare != nil
}

// findAt returns what there is at the path of a page.
func (s *site) findAt(ctx context.Context, src answer.Source, path string, query url.Values) found {
	if !isQuestion(path) {
		return findAnswer(src, path, query)
	}
	switch {
	case path == historyPath:
		return s.findHistory(ctx, src, query)
	case isForecast(path):
		return s.findForecast(ctx, src, path)
	}
	names, asked := []string{query.Get("env")}, query.Get("q")
	if path == diffPath {
		names, asked = []string{query.Get("from"), query.Get("to")}, "it"
	}
	for _, name := range names {
		_, known := src.Environment(name)
		switch {
		case name == "" || asked == "":
			verb, example := "explain", "explain?env=ENVIRONMENT&q=NAME"
			if path == diffPath {
				verb, example = "compare", "diff?from=ENVIRONMENT&to=ENVIRONMENT"
			}
			return found{errorAnswer{"the query does not say what to " + verb, "write /api/v1/" + example}, http.StatusBadRequest, ""}
		case !known:
			return findEnvironment(src, name)
		}
	}
	if len(asked) > maxQuery {
		return found{errorAnswer{"the question is too long", "ask with a name"}, http.StatusBadRequest, ""}
	}
	if wait := s.questions.admit(s.options.Now(), maxQuestions); wait > 0 {
		return found{errorAnswer{fmt.Sprintf("%d questions began within a minute, which is the most", maxQuestions), "ask again in a minute"}, http.StatusTooManyRequests, ""}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	if path == diffPath {
		report, err := s.options.Compare(ctx, names[0], names[1])
		if err != nil {
			return s.refuseAnswer(ctx, path, err)
		}
		return found{answer.NewDifferences(report, maxAnswer), http.StatusOK, ""}
	}
	text, err := s.options.Explain(ctx, names[0], asked)
	if err != nil {
		return s.refuseAnswer(ctx, path, err)
	}
	return found{answer.Explanation{Environment: names[0], Query: asked, Text: answer.CleanText(text[:min(len(text), maxAnswer)])}, http.StatusOK, ""}
}

// refuseAnswer returns why a question has no answer.
func (s *site) refuseAnswer(ctx context.Context, path string, err error) found {
	var unknown *explain.QueryError
	var hinted interface{ Hint() string }
	switch {
	case errors.As(err, &unknown):
		return found{errorAnswer{unknown.Summary, unknown.Hint}, http.StatusNotFound, ""}
	case errors.Is(err, context.DeadlineExceeded):
		return found{errorAnswer{"a cycle runs, and the question waits for its end", "ask again in a minute"}, http.StatusServiceUnavailable, ""}
	case errors.As(err, &hinted):
		return found{errorAnswer{err.Error(), hinted.Hint()}, http.StatusConflict, ""}
	}
	s.options.Logger.WarnContext(ctx, "a question has no answer", slog.String("path", path), slog.Any("error", err))
	return found{errorAnswer{"the question has no answer now: " + answer.CleanText(err.Error()), "the log of the daemon says why"}, http.StatusServiceUnavailable, ""}
}
