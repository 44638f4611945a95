package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// api is before the path of a page where it is the path of the page's answer.
const api = "/api/v1"

// pagePaths are the paths of pages, and those of their answers below /api/v1.
var pagePaths = []struct{ page, answer string }{
	{"/{$}", "/overview"},
	{environmentsPath, environmentsPath},
	{"/environments/{name}", "/environments/{name}"},
	{"/environments/{name}/pulls/{number}", "/environments/{name}/pulls/{number}"},
	{changesPath, changesPath},
	{"/commits", "/commits"},
	{commitPath, commitPath},
	{forecastPath, forecastPath},
	{"/problems", "/problems"},
	{"/fleet", "/fleet"},
	{historyPath, historyPath},
	{figuresPath, figuresPath},
	{"/assignments/{environment}/{clusterType}/{target}", "/assignments/{environment}/{clusterType}/{target}"},
	{"/workloads", "/workloads"},
	{"/workloads/{workload}", "/workloads/{workload}"},
	{mapPath, mapPath},
	{"/cluster-types", "/cluster-types"},
	{"/cluster-types/{clusterType}", "/cluster-types/{clusterType}"},
	{"/clusters/{cluster}", "/clusters/{cluster}"},
	{stacksPath, stacksPath},
	{stackPath, stackPath},
	{runPath, runPath},
	{"/explain", "/explain"},
	{"/diff", "/diff"},
	{searchPath, searchPath},
	{"/health", "/health"},
}

// maxQuery bounds the text of a question.
const maxQuery = 256

// found is what there is at a path.
type found struct {
	answer any
	// code is that of the answer.
	code int
	// redirect is the path, from the root of the site, of the page that says more; "" if there is none.
	redirect string
}

// findAnswer returns what there is at the path of a page. The page is made from the same answer as the one
// that the API gives.
func findAnswer(src answer.Source, path string, query url.Values) found {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		name, err := url.PathUnescape(p)
		if err != nil {
			return answerMissing(NothingHere, "")
		}
		parts[i] = name
	}
	text := readText(query)
	switch first := parts[0]; {
	case len(parts) == 1 && (first == "" || first == "overview"):
		return found{src.Overview(), http.StatusOK, ""}
	case len(parts) == 1 && first == "environments":
		return found{src.Environments(newEnvironmentFilter(query, text)), http.StatusOK, ""}
	case len(parts) == 2 && first == "environments":
		return findEnvironment(src, parts[1])
	case len(parts) == 4 && first == "environments" && parts[2] == "pulls":
		return findPull(src, parts[1], parts[3])
	case len(parts) == 1 && first == "commits":
		return found{src.Commits(newCommitFilter(query, text)), http.StatusOK, ""}
	case len(parts) == 2 && first == "commits":
		return findCommit(src, parts[1])
	case len(parts) == 1 && first == "problems":
		return found{src.Problems(newProblemFilter(query, text)), http.StatusOK, ""}
	case len(parts) == 1 && first == "search":
		return searchNames(src, text, nil)
	case (len(parts) == 1 || len(parts) == 3 || len(parts) == 5 && parts[3] == "runs") && first == "stacks":
		return findStackAnswer(src, parts, query)
	case len(parts) == 1 && first == "health":
		return found{src.Status(), http.StatusOK, ""}
	}
	return findFleetAnswer(src, parts, query)
}

// readText returns the text that is searched for.
func readText(query url.Values) string {
	text := strings.TrimSpace(query.Get("q"))
	return text[:min(len(text), maxQuery)]
}

func newProblemFilter(query url.Values, text string) answer.ProblemFilter {
	return answer.ProblemFilter{Environment: query.Get("env"), Kind: cmp.Or(query.Get("kind"), query.Get("severity")), Text: text, Page: readPage(query)}
}

func newCommitFilter(query url.Values, text string) answer.CommitFilter {
	return answer.CommitFilter{Text: text, Author: query.Get("author"), Environment: query.Get("env"), Path: query.Get("path"), Page: readPage(query)}
}

func newEnvironmentFilter(query url.Values, text string) answer.EnvironmentFilter {
	return answer.EnvironmentFilter{Text: text, State: query.Get("state")}
}

// readPage returns the number of the page of a list that is asked for.
func readPage(query url.Values) int {
	number, _ := strconv.Atoi(query.Get("page")) // another text is the first page
	return number
}

func answerMissing(sentence, hint string) found {
	return found{errorAnswer{sentence, hint}, http.StatusNotFound, ""}
}

func findEnvironment(src answer.Source, name string) found {
	one, ok := src.Environment(name)
	if ok {
		return found{one, http.StatusOK, ""}
	}
	return answerUnknown("environment", name, src.Names(), "environments")
}

// findPull returns what a pull request changes.
func findPull(src answer.Source, name, number string) found {
	_, known := src.Environment(name)
	n, err := strconv.Atoi(number)
	one, ok := src.Pull(name, n)
	switch {
	case ok:
		return found{one, http.StatusOK, ""}
	case !known:
		return findEnvironment(src, name)
	case err != nil || n <= 0:
		return answerMissing(fmt.Sprintf("environment %q has no pull request %q", name, number), "pull requests have numbers")
	}
	return found{pastPull{name, n}, http.StatusOK, ""}
}

// findCommit returns where a commit is. A part of its id leads to the whole one.
func findCommit(src answer.Source, id string) found {
	journey, ok := src.Journey(id)
	if ok {
		return found{journey, http.StatusOK, ""}
	}
	switch ids := src.FindCommits(id); len(ids) {
	case 0:
		if src.At != "" {
			return answerMissing(fmt.Sprintf("commit %q is not among the newest that the base had then", id), "it may have been made later")
		}
		hint := "a commit is named by 4 or more of its hexadecimal digits"
		if text.IsCommitPrefix(id) {
			hint = "fairlead simulate " + id + " tells of older ones"
		}
		return found{missingAnswer{errorAnswer{fmt.Sprintf("commit %q is not among the newest of the base", id), hint}, "commits", ""}, http.StatusNotFound, ""}
	case 1:
		return found{nil, http.StatusFound, "commits/" + ids[0]}
	default:
		return answerMissing(fmt.Sprintf("several commits begin with %q", id), "write more of its id")
	}
}

// searchNames returns what has a text in its name; a whole name leads there. Pull requests that are not open are those
// of what was done.
func searchNames(src answer.Source, text string, done []history.Entry) found {
	names := src.Search(text)
	names.Pulls = src.FindPulls(text, done)
	f := found{names, http.StatusOK, ""}
	_, isEnvironment := src.Environment(text)
	ids := src.FindCommits(text)
	switch {
	case len(names.Pulls) == 1 && strings.HasPrefix(text, "#"):
		f.redirect = fmt.Sprintf("environments/%s/pulls/%d", url.PathEscape(names.Pulls[0].Environment), names.Pulls[0].Number)
	case isEnvironment:
		f.redirect = "environments/" + url.PathEscape(text)
	case len(src.FindStackEnvironments(text)) == 1:
		f.redirect = "stacks/" + strings.ReplaceAll(url.PathEscape(text), "%2F", "/")
	case len(ids) == 1:
		f.redirect = "commits/" + ids[0]
	default:
		f.redirect = findNamed(src, text)
	}
	return f
}

// findNamed returns the path of the workload, the cluster type or the cluster of a name; "" if there is none, or
// several.
func findNamed(src answer.Source, name string) (path string) {
	for list, names := range map[string][]string{"workloads": src.WorkloadNames(), "cluster-types": src.ClusterTypeNames(), "clusters": src.ClusterNames()} {
		if _, isThere := slices.BinarySearch(names, name); !isThere {
			continue
		}
		if path != "" {
			return ""
		}
		path = list + "/" + url.PathEscape(name)
	}
	return path
}

// newPage returns the page of an answer: with how it was asked for, where it can be asked in several ways.
func newPage(of any, names []string, path string, query url.Values) any {
	missing := newMissing(of)
	if isForecast(path) {
		a, _ := of.(answer.Forecast)
		return page.Forecast{Forecast: a, Refusal: missing}
	}
	switch path {
	case explainPath:
		explanation, _ := of.(answer.Explanation)
		explanation.Environment, explanation.Query = query.Get("env"), query.Get("q")
		if explanation.Environment == "" || explanation.Query == "" {
			missing = page.Missing{Error: "choose an environment, and write what to explain in it"}
		}
		return page.Explain{Explanation: explanation, At: query.Get("at"), Environments: names, Refusal: missing}
	case historyPath:
		a, _ := of.(answer.History)
		return page.History{History: a, Query: query, Environments: names, Refusal: missing}
	case figuresPath:
		a, _ := of.(answer.Figures)
		return page.Figures{Figures: a, Refusal: missing}
	case diffPath:
		if query.Get("from") == "" || query.Get("to") == "" {
			missing = page.Missing{Error: "choose two environments"}
		}
		differences, _ := of.(answer.Differences)
		differences.From, differences.To, differences.Kind = query.Get("from"), query.Get("to"), query.Get("kind")
		return page.Diff{Differences: differences, Environments: names, Refusal: missing}
	}
	switch a := of.(type) {
	case answer.Problems:
		return page.Problems{Problems: a, Filter: newProblemFilter(query, query.Get("q")), Environments: names}
	case answer.Stacks:
		return page.Stacks{Stacks: a, Filter: page.ParseStackFilter(query), Environments: names}
	case answer.Commits:
		columns, _ := strconv.Atoi(query.Get("cpage")) // another text is the first page
		return page.Commits{Commits: a, Filter: newCommitFilter(query, query.Get("q")), ColumnPage: columns}
	case answer.Environments:
		return page.Environments{Environments: a, Filter: newEnvironmentFilter(query, query.Get("q"))}
	case answer.Fleet:
		return page.Fleet{Fleet: a, Filter: page.ParseFleetFilter(query), Environments: names}
	case answer.ClusterTypes:
		return page.ClusterTypes{ClusterTypes: a, Filter: page.ParseClusterTypeFilter(query)}
	case answer.Workloads:
		return page.Workloads{Workloads: a, Filter: page.ParseWorkloadFilter(query)}
	case errorAnswer, missingAnswer:
		return missing
	}
	return of
}
