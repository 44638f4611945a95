package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// The paths of the pages about stacks.
const (
	stacksPath = "/stacks"
	stackPath  = "/stacks/{team}/{stack}"
	runPath    = "/stacks/{team}/{stack}/runs/{run}"
)

// findStackAnswer returns what there is at the path of a page about stacks. A name that several environments have
// leads to a list of them, unless the query says which one is asked for.
func findStackAnswer(src answer.Source, parts []string, query url.Values) found {
	if len(parts) == 1 {
		return found{src.Stacks(page.ParseStackFilter(query)), http.StatusOK, ""}
	}
	name := parts[1] + "/" + parts[2]
	environments := src.FindStackEnvironments(name)
	environment := query.Get("env")
	switch {
	case environment == "" && len(environments) > 1:
		return found{nil, http.StatusFound, "stacks?q=" + url.QueryEscape(name)}
	case environment == "" && len(environments) == 1:
		environment = environments[0]
	}
	one, ok := src.Stack(environment, name)
	switch {
	case ok && len(parts) == 5:
		return findRun(src, one, parts[4])
	case ok:
		return found{one, http.StatusOK, ""}
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

// findRun returns a plan of a stack. One that is not the newest any more is not there: whoever has read it must not
// find another one in its place.
func findRun(src answer.Source, of answer.Stack, id string) found {
	run, ok := src.Run(of.Environment, of.StackPart.Stack, id)
	if ok {
		return found{run, http.StatusOK, ""}
	}
	missing := errorAnswer{fmt.Sprintf("%s in %s has no plan %q", of.StackPart.Stack, of.Environment, id), "no cluster has sent it since Fairlead started, or there is a newer one: the page of the stack leads to it"}
	return found{missingAnswer{missing, "stacks", ""}, http.StatusNotFound, ""}
}

// findEnvironmentOf returns that an environment is not there, or has no stack of a name that others have.
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

// readStackReports returns what clusters say of the objects of all stacks; nil if there is no ledger.
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
		s.options.Fleet.Ledger.VisitObjects(environment, func(cluster *ledger.Cluster, object string, of ledger.State) {
			parts := strings.Split(object, "/")
			if len(parts) != 3 || !objects[answer.StackObject{Environment: environment, Namespace: parts[1], Name: parts[2]}] {
				return
			}
			key := answer.StackObject{Environment: environment, Namespace: parts[1], Name: parts[2]}
			known[key] = append(known[key], stackview.Report{Cluster: cluster.Name(), Object: object, Phase: of.Phase.String(), Revision: of.Revision, Since: of.Said, Message: of.Message})
		})
	}
	c.known, c.made, c.state = known, now, state
	return known
}
