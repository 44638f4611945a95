package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// api is before the path of a page where it is the path of the page's answer.
const api = "/api/v1"

// pageRow is a page with its answer in the API. Routes, parameter checks, tables for spreadsheets, the past and
// the OpenAPI description follow from it.
type pageRow struct {
	// path is a pattern of [http.ServeMux]. The answer has the same path below [api], or answerPath there.
	path, answerPath string
	// title and about are the summary and the description of the page in the OpenAPI description.
	title, about string
	// names describes the parameters of the path, in their order.
	names []param
	// filters are the parameters of the query besides those that all pages of a kind have; others are refused,
	// unless isOpen. noun is what refuses them: "list" if it is "".
	filters []param
	isOpen  bool
	noun    string
	// isPaged is set if the parameter page selects a part.
	isPaged bool
	// isWork is set if an answer takes work, so that its page does not follow the state.
	isWork bool
	// hasForm is set if the page shows a form where the query asks nothing yet.
	hasForm bool
	// isThere reports whether the site can answer; nil: it always can.
	isThere func(o *Options) bool
	// loads add to the source what the answer is made from besides the state.
	loads []loader
	// read returns the answer from the source alone, of now or of the past. Where ask is set, that is called for now.
	read func(src answer.Source, q request) found
	ask  finder
	// past returns the answer of a moment in the past; nil: the page shows the present alone. pastAbout completes
	// "The answer is then …".
	past      finder
	pastAbout string
	// template is the name of the template of a page whose answer is [answer.Tabled]: the page has nothing else of its own.
	template string
	// show returns the page of an answer, if that is not the answer itself.
	show func(of any, q request, names []string) any
	// hasTable is set if the answer is a table for spreadsheets, too.
	hasTable bool
	// answers are examples of the types of answers, and codes the codes of refusals besides those that follow from the row.
	answers []any
	codes   replies
	// pageCodes are those that the page has besides, and not the answer; forms are the types of its other forms.
	pageCodes replies
	forms     []string
}

type (
	loader func(ctx context.Context, src answer.Source, q request) answer.Source
	finder func(ctx context.Context, src answer.Source, q request) found
)

type param struct {
	name, about string
	values      []string // that it may have; nil for any
	isNumber    bool
	maxLength   int // 0 for any
}

type request struct {
	row   *pageRow // nil if no page has the path
	path  string   // escaped
	names []string // of the parameters of the path
	query url.Values
	table bool // all rows are asked for, as a table
}

// find returns the row of an address, which may be that of an answer below [api].
func (s *site) find(target *url.URL) request {
	q := request{path: strings.TrimPrefix(target.EscapedPath(), api), query: target.Query()}
	parts := splitPath(q.path)
	for i := range s.rows {
		names, ok := matchParts(splitPath(s.rows[i].path), parts)
		if !ok && s.rows[i].answerPath != "" {
			names, ok = matchParts(splitPath(s.rows[i].answerPath), parts)
		}
		if ok {
			q.row, q.names = &s.rows[i], names
			return q
		}
	}
	return q
}

func splitPath(path string) []string {
	return strings.Split(strings.Trim(strings.TrimSuffix(path, "{$}"), "/"), "/")
}

func matchParts(pattern, path []string) (names []string, ok bool) {
	if len(pattern) != len(path) {
		return nil, false
	}
	for i, p := range pattern {
		name, err := url.PathUnescape(path[i])
		switch {
		case err != nil:
			return nil, false
		case strings.HasPrefix(p, "{"):
			names = append(names, name)
		case p != path[i]:
			return nil, false
		}
	}
	return names, true
}

func (q request) text() string {
	text := strings.TrimSpace(q.query.Get("q"))
	return text[:min(len(text), maxQuery)]
}

func (q request) key() string {
	if q.table {
		return q.path + csvExtension + "?" + q.query.Encode()
	}
	return q.path + "?" + q.query.Encode()
}

func (q request) isPast() bool {
	return q.query.Get("at") != "" || q.row != nil && q.row.path == diffPath && strings.Contains(q.query.Get("from")+q.query.Get("to"), "@")
}

// The paths of pages that other code names.
const (
	environmentsPath = "/environments"
	environmentPath  = "/environments/{name}"
	changesPath      = "/environments/{name}/changes/{moments}"
	commitsPath      = "/commits"
	// commitPath is that of the page of a commit. With an extension it is that of a badge, or of a calendar.
	commitPath   = "/commits/{commit}"
	forecastPath = "/commits/{commit}/forecast"
	historyPath  = "/history"
	figuresPath  = "/history/figures"
	explainPath  = "/explain"
	diffPath     = "/diff"
	searchPath   = "/search"
	stacksPath   = "/stacks"
	// mapPath is the path of the map, and mapPicture that of its picture.
	mapPath, mapPicture = "/map", "/map.png"
)

// Parameters that several pages have.
var (
	environmentName = param{name: "name", about: "The environment."}
	commitName      = param{name: "commit", about: "The id of the commit, or 4 or more of its first digits."}
	stackNames      = []param{{name: "team", about: "The team of the stack."}, {name: "stack", about: "The name of the stack within the team."}}
	inEnvironment   = param{name: "env", about: "Only in this environment."}
	ofStack         = param{name: "env", about: "The environment, where several have a stack of this name."}
	byText          = param{name: "q", about: "Only those with this text in their names."}
)

// byState returns the filter for states: the words that the page shows, and those of urgency.
func byState(words []string) param {
	var all []string
	for _, t := range answer.AllTones() {
		all = append(all, string(t))
	}
	for _, one := range words {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return param{name: "state", about: "Only those in this state: a word that the page shows, or one of urgency.", values: all}
}

func fleetFilters() []param {
	return []param{
		{name: "q", about: "Only assignments with this text in the name of the workload, the target or the cluster type."}, inEnvironment,
		{name: "team", about: "Only assignments of this team."}, {name: "workload", about: "Only assignments of this workload."},
		{name: "target", about: "Only assignments of this deployment target."}, {name: "type", about: "Only assignments to this cluster type."},
		{name: "region", about: "Only assignments to cluster types with this label `region`."}, {name: "version", about: "Only assignments with this version."},
		byState(answer.AssignmentWords()), {name: "rows", about: "What the rows are.", values: answer.FleetSides()}, {name: "cols", about: "What the columns are.", values: answer.FleetSides()},
		{name: "differs", about: "With `on`, only rows with several versions.", values: []string{"on"}},
	}
}

func historyFilters() []param {
	return []param{
		{name: "q", about: "Only actions with this text."}, {name: "env", about: "Only actions on this environment."}, {name: "who", about: "Only actions of this person."},
		{name: "what", about: "Only this action, as `promote` or `end-freeze`, or what the page calls it."}, {name: "since", about: "Only since this day, as 2026-11-23, or time."},
		{name: "until", about: "Only until this day, or before this time."}, {name: "forced", about: "With `on`, only what was forced.", values: []string{"on"}},
	}
}

func (s *site) newRows() []pageRow {
	return slices.Concat(s.newEnvironmentRows(), s.newCommitRows(), s.newFleetRows(), s.newClusterRows(), s.newQuestionRows())
}

func (s *site) newEnvironmentRows() []pageRow {
	return []pageRow{
		{
			path: "/{$}", answerPath: "/overview", title: "Overview: what needs attention, and where commits are", isOpen: true, loads: []loader{s.addActions, s.addHeadForecast},
			read: func(src answer.Source, _ request) found { return newFound(src.Overview()) },
			past: s.findThen, pastAbout: "where commits were, from Git, and what clusters had reported",
			answers: []any{answer.Overview{}, answer.PastOverview{}}, codes: replies{http.StatusFound: toTimeOfCommit, http.StatusNotFound: {about: "Nothing is known of that moment."}},
		},
		{
			path: environmentsPath, title: "All environments", filters: []param{{name: "q", about: "A part of the name."}, byState(answer.EnvironmentWords())},
			read: func(src answer.Source, q request) found { return newFound(src.Environments(newEnvironmentFilter(q))) },
			past: s.findPast, pastAbout: "what was wanted",
			show: shown(func(a answer.Environments, q request, _ []string) any {
				return page.Environments{Environments: a, Filter: answer.EnvironmentFilter{Text: q.query.Get("q"), State: q.query.Get("state")}}
			}),
			answers: []any{answer.Environments{}, answer.PastEnvironments{}},
		},
		{
			path: environmentPath, title: "One environment", names: []param{environmentName}, isOpen: true, loads: []loader{s.addGroups},
			ask: s.findEnvironment, past: s.findPast, pastAbout: "what was wanted, and what clusters had reported",
			answers: []any{answer.OneEnvironment{}, answer.PastEnvironment{}},
		},
		{
			path: "/environments/{name}/pulls/{number}", title: "What a pull request changes, or meant when it was merged or closed", isOpen: true,
			names: []param{environmentName, {name: "number", about: "The number of the pull request.", isNumber: true}},
			ask:   s.findPull, answers: []any{answer.PullImpact{}}, codes: workCodes,
		},
		{
			path: changesPath, title: "What changed in the output of an environment between two moments", isOpen: true,
			names: []param{environmentName, {name: "moments", about: "`MOMENT..MOMENT`, or `MOMENT..` for until now: times as RFC 3339 has them, days, or the first digits of the ids of commits of an output or of the base."}},
			ask:   s.findChanges, answers: []any{answer.OutputChanges{}}, codes: replies{http.StatusAccepted: stillRendered, http.StatusBadRequest: notAMoment},
		},
	}
}

func (s *site) newCommitRows() []pageRow {
	return []pageRow{
		{
			path: commitsPath, title: "The newest commits of the base, and where they are", isPaged: true,
			filters: []param{
				{name: "q", about: "Words of the subject, the first digits of the id, or the author."}, {name: "author", about: "A part of the author's name."},
				{name: "env", about: "Only commits that this environment does not run yet."}, {name: "path", about: "Only commits that change a file with this in its path, and those whose files are not all known."},
			},
			read: func(src answer.Source, q request) found {
				return newFound(src.Commits(newCommitFilter(q.query, q.text())))
			},
			past: s.findThen, pastAbout: "which commits existed, and what they were to each environment",
			show: shown(func(a answer.Commits, q request, _ []string) any {
				columns, _ := strconv.Atoi(q.query.Get("cpage")) // another text is the first page
				return page.Commits{Commits: a, Filter: newCommitFilter(q.query, q.query.Get("q")), ColumnPage: columns}
			}),
			answers: []any{answer.Commits{}}, codes: replies{http.StatusFound: toTimeOfCommit, http.StatusNotFound: noEnvironment},
		},
		{
			path: commitPath, title: "Where a commit is, and what it waits for", names: []param{commitName}, isOpen: true,
			about:   "With `.svg` after the id it is a badge: a picture of how far the commit has got. With `.ics` it is the forecast as a calendar (RFC 5545), where there are forecasts.",
			filters: []param{{name: "env", about: "Of a badge: the environment to show; the farthest without it."}},
			read:    func(src answer.Source, q request) found { return findCommit(src, q.names[0]) },
			past:    s.findThen, pastAbout: "what the commit was to each environment",
			answers: []any{answer.Journey{}}, codes: replies{http.StatusFound: wholeID}, forms: []string{svgText, calendarText},
			pageCodes: replies{http.StatusTooManyRequests: tooMany, http.StatusServiceUnavailable: noAnswerNow},
		},
		{
			path: forecastPath, title: "When a commit gets to each environment, and what it waits for", names: []param{commitName}, isOpen: true, isWork: true,
			isThere: func(o *Options) bool { return o.Simulate != nil }, ask: s.findForecast, show: showForecast,
			answers: []any{answer.Forecast{}}, codes: replies{http.StatusFound: wholeID, http.StatusServiceUnavailable: noAnswerNow},
		},
		{
			path: "/problems", title: "All problems", isPaged: true,
			filters: []param{
				{name: "q", about: "Only problems with this text."}, inEnvironment, {name: "kind", about: "Only problems of this kind.", values: answer.ProblemKinds()},
				{name: "severity", about: "The same as `kind`.", values: answer.ProblemKinds()},
			},
			read: func(src answer.Source, q request) found {
				return newFound(src.Problems(newProblemFilter(q.query, q.text())))
			},
			show: shown(func(a answer.Problems, q request, names []string) any {
				return page.Problems{Problems: a, Filter: newProblemFilter(q.query, q.query.Get("q")), Environments: names}
			}),
			answers: []any{answer.Problems{}}, codes: replies{http.StatusNotFound: noEnvironment},
		},
		{
			path: "/health", title: "The state of the daemon itself", isOpen: true,
			read:    func(src answer.Source, _ request) found { return newFound(src.Status()) },
			answers: []any{answer.Status{}},
		},
	}
}

func (s *site) newFleetRows() []pageRow {
	return []pageRow{
		{
			path: "/fleet", title: "What is assigned where, and its state", filters: fleetFilters(), isPaged: true, hasTable: true, loads: []loader{s.addAssigned},
			read: findFleet, past: s.findPast, pastAbout: "what was wanted",
			show: shown(func(a answer.Fleet, q request, names []string) any {
				return page.Fleet{Fleet: a, Filter: page.ParseFleetFilter(q.query), Environments: names}
			}),
			answers: []any{answer.Fleet{}}, codes: replies{http.StatusNotFound: noEnvironment},
		},
		{
			path: mapPath, title: "Each assignment of an environment as one letter", noun: "map", loads: []loader{s.addAssigned},
			about: "With `at.x` and `at.y`, a click on the picture, it leads to the assignment there.",
			filters: []param{
				{name: "env", about: "The environment; without it, the first one."}, {name: "pull", about: "An open pull request, whose changes are shown.", isNumber: true},
				{name: "at.x", about: "A point of the picture.", isNumber: true}, {name: "at.y", about: "A point of the picture.", isNumber: true},
			},
			read: findMap, past: s.findPast, pastAbout: "what was wanted",
			answers: []any{answer.FleetMap{}}, codes: replies{http.StatusNotFound: noEnvironment}, pageCodes: replies{http.StatusFound: {about: "To the assignment at the point."}},
		},
		{
			path: "/workloads", title: "Workloads", isPaged: true, filters: []param{byText, {name: "team", about: "Only workloads of this team."}}, loads: []loader{s.addAssigned},
			read: func(src answer.Source, q request) found {
				return newFound(src.Workloads(page.ParseWorkloadFilter(q.query)))
			},
			past: s.findPast, pastAbout: "what was wanted",
			show: shown(func(a answer.Workloads, q request, _ []string) any {
				return page.Workloads{Workloads: a, Filter: page.ParseWorkloadFilter(q.query)}
			}),
			answers: []any{answer.Workloads{}},
		},
		{
			path: "/workloads/{workload}", title: "Where a workload is", names: []param{{name: "workload", about: "The name of the workload."}}, isOpen: true, loads: []loader{s.addAssigned, s.addReleases},
			read: findWorkload, past: s.findPast, pastAbout: "what was wanted", answers: []any{answer.Workload{}},
		},
		{
			path: "/assignments/{environment}/{clusterType}/{target}", title: "A deployment target on a cluster type, and why it is there or not", isOpen: true, loads: []loader{s.addAssigned},
			names: []param{{name: "environment", about: "The environment."}, {name: "clusterType", about: "The cluster type."}, {name: "target", about: "The deployment target, by its full name."}},
			read:  findAssignment, past: s.findPast, pastAbout: "what was wanted", answers: []any{answer.Assignment{}},
		},
	}
}

func (s *site) newClusterRows() []pageRow {
	return []pageRow{
		{
			path: "/cluster-types", title: "Cluster types", isPaged: true, filters: []param{byText, {name: "label", about: "Only cluster types with this label, as KEY=VALUE."}}, loads: []loader{s.addAssigned},
			read: func(src answer.Source, q request) found {
				return newFound(src.ClusterTypes(page.ParseClusterTypeFilter(q.query)))
			},
			past: s.findPast, pastAbout: "what was wanted",
			show: shown(func(a answer.ClusterTypes, q request, _ []string) any {
				return page.ClusterTypes{ClusterTypes: a, Filter: page.ParseClusterTypeFilter(q.query)}
			}),
			answers: []any{answer.ClusterTypes{}},
		},
		{
			path: "/cluster-types/{clusterType}", title: "What is assigned to a cluster type, and its clusters", names: []param{{name: "clusterType", about: "The name of the cluster type."}}, isOpen: true,
			loads: []loader{s.addAssigned, s.addReportedOfType}, read: findClusterType, past: s.findPast, pastAbout: "what was wanted", answers: []any{answer.ClusterType{}},
		},
		{
			path: "/clusters", title: "Clusters that have reported, the most urgent first", template: "clusters", isPaged: true, loads: []loader{s.addReportedAll},
			filters: []param{byText, inEnvironment, {name: "type", about: "Only clusters of this cluster type."}, {name: "label", about: "Only clusters whose type has this label, as KEY=VALUE."}, byState(answer.ClusterWords())},
			read: func(src answer.Source, q request) found {
				return newFound(src.ListClusters(answer.ClusterFilter{Text: q.text(), Environment: q.query.Get("env"), ClusterType: q.query.Get("type"), State: q.query.Get("state"), Label: q.query.Get("label"), Page: readPage(q.query)}))
			},
			answers: []any{answer.Clusters{}}, codes: replies{http.StatusNotFound: noEnvironment},
		},
		{
			path: "/clusters/{cluster}", title: "Where a cluster belongs, and what it reports", names: []param{{name: "cluster", about: "The name of the cluster."}}, isOpen: true,
			loads: []loader{s.addAssignedNow, s.addReportedOfCluster}, read: findCluster, answers: []any{answer.Cluster{}},
		},
		{
			path: stacksPath, title: "Stacks of all environments, the most urgent first", isPaged: true, filters: []param{byText, inEnvironment, byState(answer.StackWords())},
			read: func(src answer.Source, q request) found { return newFound(src.Stacks(page.ParseStackFilter(q.query))) },
			show: shown(func(a answer.Stacks, q request, names []string) any {
				return page.Stacks{Stacks: a, Filter: page.ParseStackFilter(q.query), Environments: names}
			}),
			answers: []any{answer.Stacks{}}, codes: replies{http.StatusNotFound: noEnvironment},
		},
		{
			path: "/stacks/{team}/{stack}", title: "A stack: its components in their order, and what clusters report of them", names: stackNames, filters: []param{ofStack}, isOpen: true, loads: []loader{s.addStackSpans},
			read: func(src answer.Source, q request) found {
				return findStack(src, q, func(of answer.Stack) found { return newFound(of) })
			},
			answers: []any{answer.Stack{}}, codes: replies{http.StatusFound: {about: "To the list of the stacks of this name, where several environments have one."}},
		},
		{
			path: "/stacks/{team}/{stack}/runs/{run}", title: "A plan of a component that a cluster has sent: what it does, what it was made from, and what approves it",
			about: "As text it ends with the plan.", names: append(slices.Clone(stackNames), param{name: "run", about: "The id of the plan, from the page of the stack."}), filters: []param{ofStack}, isOpen: true, loads: []loader{s.addStackSpans},
			ask:     s.findRun,
			answers: []any{answer.StackRun{}}, codes: replies{http.StatusFound: {about: "To the list of the stacks of this name, where several environments have one."}},
		},
	}
}

func (s *site) newQuestionRows() []pageRow {
	hasHistory := func(o *Options) bool { return o.History != nil }
	renders := func(o *Options) bool { return o.Explain != nil && o.Compare != nil }
	return []pageRow{
		{
			path: historyPath, title: "What people and Fairlead did", filters: historyFilters(), isPaged: true, isWork: true, hasTable: true, isThere: hasHistory,
			ask: s.findHistory, past: s.findThen, pastAbout: "what was done until then",
			show: func(of any, q request, names []string) any {
				a, _ := of.(answer.History)
				return page.History{History: a, Query: q.query, Environments: names, Refusal: newMissing(of)}
			},
			answers: []any{answer.History{}}, codes: replies{http.StatusFound: toTimeOfCommit, http.StatusNotFound: noEnvironment, http.StatusServiceUnavailable: noAnswerNow},
		},
		{
			path: figuresPath, title: "How long commits take, and how many are reverted", filters: []param{}, isWork: true, isThere: hasHistory, ask: s.findFigures,
			show: func(of any, _ request, _ []string) any {
				a, _ := of.(answer.Figures)
				return page.Figures{Figures: a, Refusal: newMissing(of)}
			},
			answers: []any{answer.Figures{}}, codes: replies{http.StatusServiceUnavailable: noAnswerNow},
		},
		{
			path: explainPath, title: "Why something is, or is not, where it is", about: "Without a query the page has a form for it.", noun: "question", isWork: true, hasForm: true, isThere: renders,
			filters: []param{{name: "env", about: "The environment."}, {name: "q", about: "What `fairlead explain` is asked.", maxLength: maxQuery}},
			ask:     s.findExplanation, past: s.findPastExplanation, pastAbout: "what was wanted", show: showExplanation,
			answers: []any{answer.Explanation{}}, codes: replies{http.StatusNotFound: nothingOfThatName, http.StatusTooManyRequests: tooMany, http.StatusServiceUnavailable: noAnswerNow},
		},
		{
			path: diffPath, title: "What differs between two environments, and why", about: "Without a query the page has a form for it. A side may name a moment, as `ENVIRONMENT@MOMENT`.", noun: "question", isWork: true, hasForm: true, isThere: renders,
			filters: []param{{name: "from", about: "An environment."}, {name: "to", about: "Another environment."}, {name: "kind", about: "Only differences of this kind.", values: drift.TopicNames()}},
			ask:     s.findDifferences, past: s.findPast, pastAbout: "what was wanted, for sides that name no moment", show: showDifferences,
			answers: []any{answer.Differences{}},
			codes:   replies{http.StatusNotFound: nothingOfThatName, http.StatusConflict: {about: "An environment has problems."}, http.StatusTooManyRequests: tooMany, http.StatusServiceUnavailable: noAnswerNow},
		},
		{
			path: searchPath, title: "What has a text in its name", filters: []param{{name: "q", about: "The text."}}, isOpen: true, loads: []loader{s.addReportedNames},
			ask: s.search, answers: []any{answer.Found{}}, pageCodes: replies{http.StatusFound: {about: "To the page of a whole name."}},
		},
	}
}

// shown returns how answers of one type are shown; others are shown as they are.
func shown[A any](show func(a A, q request, names []string) any) func(of any, q request, names []string) any {
	return func(of any, q request, names []string) any {
		if a, ok := of.(A); ok {
			return show(a, q, names)
		}
		return of
	}
}
