package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// changesPath is the path of what changed in the output of an environment between two moments.
const changesPath = "/environments/{name}/changes/{moments}"

// parseChanges returns the environment and the moments of a path of changes, and whether it is one. The second moment
// is "" for now.
func parseChanges(path string) (environment, from, to string, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) != 4 || parts[0] != "environments" || parts[2] != "changes" {
		return "", "", "", false
	}
	environment, wrongName := url.PathUnescape(parts[1])
	moments, wrong := url.PathUnescape(parts[3])
	from, to, _ = strings.Cut(moments, "..")
	return environment, from, to, wrongName == nil && wrong == nil
}

// findChanges returns what changed in the output of an environment between two moments.
func (s *site) findChanges(ctx context.Context, src answer.Source, path, environment, from, to string) found {
	if s.options.Past == nil {
		return found{errorAnswer{"there is no past here", "the page of the environment shows the present"}, http.StatusBadRequest, ""}
	}
	if from == "" {
		return found{errorAnswer{"the address names no moment", "write " + strings.Replace(changesPath, "{moments}", "MOMENT..MOMENT", 1)}, http.StatusBadRequest, ""}
	}
	before, refusal, refused := s.readPlace(src, environment, from)
	if refused {
		return refusal
	}
	after := history.Place{Environment: environment, At: history.Moment{Text: "now", Time: s.options.Now()}}
	key := path
	if to == "" {
		key += " " + after.At.Time.String()
	} else {
		after, refusal, refused = s.readPlace(src, environment, to)
	}
	if refused {
		return refusal
	}
	return s.findMade(ctx, path, key, func(ctx context.Context) found {
		report, outputs, err := s.options.Past.Changes(ctx, environment, before.At, after.At)
		if err != nil {
			return s.refuseAnswer(ctx, path, err)
		}
		return found{src.OutputChanges(report, outputs[0], outputs[1]), http.StatusOK, ""}
	})
}
