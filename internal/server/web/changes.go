package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

func (s *site) findChanges(ctx context.Context, src answer.Source, q request) found {
	environment := q.names[0]
	from, to, _ := strings.Cut(q.names[1], "..")
	if s.options.Past == nil {
		return failWith(http.StatusBadRequest, "there is no past here", "the page of the environment shows the present")
	}
	if from == "" {
		return failWith(http.StatusBadRequest, "the address names no moment", "write "+strings.Replace(changesPath, "{moments}", "MOMENT..MOMENT", 1))
	}
	before, refusal, refused := s.readPlace(src, environment, from)
	if refused {
		return refusal
	}
	after := history.Place{Environment: environment, At: history.Moment{Text: "now", Time: s.options.Now()}}
	key := q.path
	if to == "" {
		key += " " + after.At.Time.String()
	} else {
		after, refusal, refused = s.readPlace(src, environment, to)
	}
	if refused {
		return refusal
	}
	return s.findMade(ctx, q.path, key, func(ctx context.Context) found {
		report, outputs, err := s.options.Past.Changes(ctx, environment, before.At, after.At)
		if err != nil {
			return s.refuseAnswer(ctx, q.path, err)
		}
		return newFound(src.OutputChanges(report, outputs[0], outputs[1]))
	})
}
