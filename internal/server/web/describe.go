package web

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/lever"
)

// operation describes a method of an address, for the OpenAPI description. openapi.json is generated from operations
// and from the types of answers: go test ./internal/server/web -run TestOpenAPI -update.
type operation struct {
	summary, about string
	names, query   []param
	headers        []param
	body           any     // an example of the type of a JSON body; nil for none
	form           []param // the fields of a form; nil for none
	isPage         bool    // refusals are pages, and not JSON
	answers        replies
}

// replies are the answers of an address, by their codes.
type replies map[int]reply

// reply is what an answer means, and what it holds: the types of of in JSON, or kinds. With neither, it is a refusal, or has no
// body where the code says so.
type reply struct {
	about string
	of    []any
	kinds []string
}

// What several addresses answer.
var (
	stillRendered     = reply{about: "The past is still rendered. Ask again."}
	notAMoment        = reply{about: "A moment cannot be read."}
	wrongParameter    = reply{about: "A parameter does not exist, or does not have this value."}
	notModified       = reply{about: "The answer is the one of `If-None-Match`."}
	toTimeOfCommit    = reply{about: "To the same at the time of the commit."}
	wholeID           = reply{about: "To the same with the whole id."}
	noEnvironment     = reply{about: "The environment does not exist."}
	nothingOfThatName = reply{about: "The environment does not exist, or it has nothing of that name."}
	tooMany           = reply{about: "Too many requests of this kind began within a minute. `Retry-After` is when to try again."}
	noAnswerNow       = reply{about: "There is no answer now. Ask again later."}
	fromOtherSite     = reply{about: "A page of another site sent the request."}
	bodyTooLarge      = reply{about: "The body is too large."}
	unreadable        = reply{about: "The request cannot be read."}
)

var workCodes = replies{http.StatusTooManyRequests: tooMany, http.StatusServiceUnavailable: noAnswerNow}

func (r *pageRow) describe() map[string]operation {
	codes := replies{http.StatusNotModified: notModified}
	if r.past != nil {
		codes[http.StatusAccepted], codes[http.StatusBadRequest] = stillRendered, notAMoment
	}
	if !r.isOpen {
		codes[http.StatusBadRequest] = wrongParameter
	}
	if len(r.names) > 0 {
		codes[http.StatusNotFound] = reply{about: "It does not exist."}
	}
	maps.Copy(codes, r.codes)
	path, below := strings.TrimSuffix(r.path, "{$}"), api+cmp.Or(r.answerPath, r.path)
	query := r.describeQuery()
	shown, told := maps.Clone(codes), maps.Clone(codes)
	maps.Copy(shown, r.pageCodes)
	shown[http.StatusOK] = reply{about: "The page. Its `ETag` changes when the answer does.", kinds: append([]string{"text/html", "text/plain"}, r.forms...)}
	told[http.StatusOK] = reply{about: "The answer. Its `ETag` changes when it does.", of: r.answers}
	about := strings.TrimSpace("Rendered from the answer of `" + below + "`. " + r.about)
	all := map[string]operation{"GET " + below: {summary: r.title, about: r.about, names: r.names, query: query, answers: told}}
	if r.hasTable {
		table := maps.Clone(codes)
		delete(table, http.StatusNotModified)
		table[http.StatusOK] = reply{about: "All rows.", kinds: []string{"text/csv"}}
		all["GET "+path+csvExtension] = operation{summary: r.title + ", as a table for spreadsheets", names: r.names, query: slices.Clone(query), isPage: true, answers: table}
	}
	if !r.isWork {
		query = append(slices.Clone(query), param{name: "refresh", about: "With `off`, the page does not reload by itself where scripts are off.", values: []string{"off"}})
	}
	all["GET "+path] = operation{summary: r.title + ", as a page", about: about, names: r.names, query: query, isPage: true, answers: shown}
	return all
}

func (r *pageRow) describeQuery() []param {
	var query []param
	if r.past != nil {
		query = append(query, param{name: "at", about: "A moment in the past: a time as RFC 3339 has it or in words of UTC, as yesterday 17:48 or 2h ago, a day, or the first digits of the id of a commit. The answer is then " + r.pastAbout + "."})
	}
	query = append(query, r.filters...)
	if r.isPaged {
		query = append(query, param{name: "page", about: "The page, from 1.", isNumber: true})
	}
	return query
}

func describeAll() map[string]operation {
	all := map[string]operation{}
	for _, r := range newSite(Options{}).rows {
		maps.Copy(all, r.describe())
	}
	for _, more := range []map[string]operation{describeDaemon(), describePeople(), describeFleet(), describeReports()} {
		maps.Copy(all, more)
	}
	return all
}

// woken is the answer to a request that wakes the daemon.
type woken struct {
	Message string `json:"message"`
}

func describeDaemon() map[string]operation {
	text := []string{"text/plain"}
	return map[string]operation{
		"GET /healthz": {summary: "Whether the process answers", answers: replies{http.StatusOK: {about: "It does.", kinds: text}}},
		"GET /readyz": {summary: "Whether the reports can be relied on", answers: replies{
			http.StatusOK:                 {about: "They can. Further lines name environments that have not finished a cycle for too long.", kinds: text},
			http.StatusServiceUnavailable: {about: "They cannot: the reasons, one a line.", kinds: text},
		}},
		"GET /metrics":             {summary: "Metrics for Prometheus", answers: replies{http.StatusOK: {about: "All metrics, in the format that was asked for.", kinds: []string{"text/plain", "application/vnd.google.protobuf"}}}},
		"GET /api/v1/status":       {summary: "All that is known", answers: replies{http.StatusOK: {about: "The answer. Its `ETag` changes when it does.", of: []any{answer.Status{}}}, http.StatusNotModified: notModified}},
		"GET /api/v1/chain":        {summary: "How far commits of the base have got", answers: replies{http.StatusOK: {about: "The answer. Its `ETag` changes when it does.", of: []any{status.Chain{}}}, http.StatusNotModified: notModified}},
		"GET /api/v1/openapi.json": {summary: "This description", answers: replies{http.StatusOK: {about: "The description.", of: []any{map[string]any{}}}}},
		"POST /api/v1/wake":        {summary: "Begin the next cycle now", answers: replies{http.StatusAccepted: {about: "It begins, or does so when the current one has ended.", of: []any{woken{}}}, http.StatusForbidden: fromOtherSite}},
		"POST /wake": {summary: "Begin the next cycle now, from a page", answers: replies{
			http.StatusSeeOther: {about: "It begins; the page of the daemon's health shows it."}, http.StatusForbidden: {about: fromOtherSite.about, of: []any{missingAnswer{}}},
			http.StatusTooManyRequests: {about: "A cycle was begun this way less than 5 seconds ago.", kinds: []string{"text/html"}},
		}},
		"GET /api/v1/simulate": {
			summary: "When a commit would reach each environment",
			about:   "A prediction from what the last cycle found, if everything succeeds and the gates do not change. Nothing is written. It waits for the current cycle, at most 20 s; at most 12 simulations begin within a minute.",
			query:   []param{{name: "commit", about: "A revision of the base: a commit, a branch or a tag.", maxLength: maxRevision}},
			answers: replies{
				http.StatusOK: {about: "An arrival for each environment, in the order of promotion.", of: []any{[]promote.Arrival{}}}, http.StatusBadRequest: {about: "The query names no commit of the base's branch."},
				http.StatusConflict: {about: "Problems stop all promotions.", of: []any{problemsAnswer{}}}, http.StatusTooManyRequests: tooMany, http.StatusServiceUnavailable: noAnswerNow,
			},
		},
		"GET " + lanesPath: {
			summary: "What each lane waits for in an environment",
			about:   "Found as the next cycle would, from what the last one found. Nothing is written. It waits for the current cycle, at most 20 s; it counts as a simulation.",
			names:   []param{environmentName}, query: []param{{name: "each", about: "A folder of the base and `/*`: what would change if each file and folder in it were a lane. Without it, the lanes of the Promotion."}},
			answers: replies{
				http.StatusOK: {about: "The lanes that have newer versions, and the commits that the environment waits for.", of: []any{lane.Report{}}}, http.StatusBadRequest: wrongParameter,
				http.StatusNotFound: {about: "The environment does not exist, or the Promotion has no lanes."},
				http.StatusConflict: {about: "Problems stop all promotions.", of: []any{problemsAnswer{}}}, http.StatusTooManyRequests: tooMany, http.StatusServiceUnavailable: noAnswerNow,
			},
		},
		"GET /events": {
			summary: "The versions of a page, as server-sent events", about: "An event `version` has the version of the page now, and comes again whenever it changes. A reader that takes no event for ten seconds is cut off.",
			query: []param{{name: "page", about: "The path of the page, with its query."}},
			answers: replies{
				http.StatusOK: {about: "The events.", kinds: []string{"text/event-stream"}}, http.StatusBadRequest: {about: "The query names no page."},
				http.StatusServiceUnavailable: {about: "Too many pages follow the state. `Retry-After` is when to try again."},
			},
		},
		"GET /assets/{build}/{file}": {
			summary: "The style and the script of pages", names: []param{{name: "build", about: "The build of the program."}, {name: "file", about: "The name of the file."}},
			answers: replies{http.StatusOK: {about: "The file. It never changes.", kinds: []string{"text/css", "text/javascript", "image/svg+xml"}}, http.StatusNotFound: {about: "There is no such file in this build."}},
		},
		"GET " + mapPicture: {
			summary: "The picture of a map", query: []param{{name: "at", about: "A moment in the past."}, {name: "env", about: "The environment; without it, the first one."}, {name: "pull", about: "An open pull request, whose changes are shown.", isNumber: true}},
			answers: replies{http.StatusOK: {about: "The picture: a row of points for each cluster type, and a column for each deployment target.", kinds: []string{"image/png"}}, http.StatusNotFound: noEnvironment},
		},
	}
}

func describePeople() map[string]operation {
	page := []string{"text/html", "text/plain"}
	noPast := reply{about: "It has no past, no such parameter, or not this value of it."}
	refusals := replies{
		http.StatusBadRequest: unreadable, http.StatusUnauthorized: {about: "Nobody has signed in."}, http.StatusForbidden: {about: "The person may not do this."},
		http.StatusNotFound: {about: "The action, the environment or the freeze does not exist."}, http.StatusTooManyRequests: tooMany, http.StatusServiceUnavailable: {about: "The control plane cannot be read now."},
	}
	with := func(all replies, code int, r reply) replies {
		all = maps.Clone(all)
		all[code] = r
		return all
	}
	moved := "It is no longer what was seen, or it is refused."
	name := []param{{name: "lever", about: "The name of the action.", values: leverNames()}}
	previewed := leverFields()[:len(leverFields())-3]
	return map[string]operation{
		"GET " + mePath:            {summary: "Who the reader is, and what they may do, as a page", isPage: true, answers: replies{http.StatusOK: {about: "The page.", kinds: page}, http.StatusBadRequest: noPast}},
		"GET " + api + mePath:      {summary: "Who the reader is, and what they may do", answers: replies{http.StatusOK: {about: "The answer.", of: []any{answer.Me{}}}, http.StatusBadRequest: noPast}},
		"GET " + waitingPath:       {summary: "What waits for people, as a page", query: waitingRow.filters, isPage: true, answers: replies{http.StatusOK: {about: "The page.", kinds: page}, http.StatusBadRequest: noPast}},
		"GET " + api + waitingPath: {summary: "What waits for people", query: waitingRow.filters, answers: replies{http.StatusOK: {about: "The answer.", of: []any{answer.Inbox{}}}, http.StatusBadRequest: noPast}},
		"GET " + signInPath: {summary: "Sign in", about: "Leads to the issuer, or the forge, at which people sign in.", query: []param{{name: "from", about: "The path of the page to return to."}}, isPage: true, answers: replies{
			http.StatusSeeOther: {about: "The browser is sent there. A cookie is set without which the answer is refused.", kinds: page}, http.StatusServiceUnavailable: {about: "Nobody can sign in now."},
		}},
		"GET /sign-in/callback": {summary: "The return from signing in", about: "The issuer, or the forge, sends the browser here.", query: []param{{name: "code", about: "What stands for the person."}, {name: "state", about: "What the browser was sent with."}}, isPage: true, answers: replies{
			http.StatusSeeOther: {about: "The person has signed in: to the page that they came from.", kinds: page}, http.StatusForbidden: {about: "It is for another browser, too late, or used already."}, http.StatusServiceUnavailable: {about: "Nobody can sign in now."},
		}},
		"POST " + signOutPath: {summary: "Sign out", isPage: true, answers: replies{http.StatusOK: {about: "The session of the browser has ended.", kinds: page}}},
		"GET " + settingsPath: {summary: "How a browser shows pages, as a page", about: "It says nothing about the fleet, and has no answer in the API.", isPage: true, answers: replies{http.StatusOK: {about: "The page.", kinds: []string{"text/html"}}, http.StatusBadRequest: noPast}},
		"POST " + settingsPath: {
			summary: "Change how this browser shows pages", about: "A cookie remembers it.",
			form:    []param{{name: "theme", about: "The colours.", values: []string{"auto", "light", "dark"}}, {name: "live", about: "Whether pages show changes at once.", values: []string{"on", "off"}}, {name: "keys", about: "Whether there are shortcuts of one key.", values: []string{"on", "off"}}, {name: "back", about: "The path of the page to go back to."}},
			answers: replies{http.StatusSeeOther: {about: "It is remembered: to the page of the form."}, http.StatusBadRequest: {about: "The form cannot be read."}, http.StatusForbidden: fromOtherSite},
		},
		"GET " + leverPath:        {summary: "What an operator action would do, as a page", about: "Rendered from the answer of `" + api + leverPath + "`.", names: name, query: previewed, isPage: true, answers: with(refusals, http.StatusOK, reply{about: "The page, with the consequences, the commit, and a form to confirm it.", kinds: page})},
		"GET " + api + leverPath:  {summary: "What an operator action would do", about: "It writes nothing. It exists only where `web.actions` is on.", names: name, query: previewed, answers: with(refusals, http.StatusOK, reply{about: "The consequences.", of: []any{answer.Lever{}}})},
		"POST " + leverPath:       {summary: "Perform an operator action from its page", names: name, form: leverFields(), isPage: true, answers: with(with(refusals, http.StatusSeeOther, reply{about: "It is done: to the page of the environment."}), http.StatusConflict, reply{about: moved})},
		"POST " + api + leverPath: {summary: "Perform an operator action", about: "One commit by the person, on what they have seen or not at all.", names: name, body: leverBody{}, answers: with(with(refusals, http.StatusOK, reply{about: "It is done.", of: []any{actions.Result{}}}), http.StatusConflict, reply{about: moved, of: []any{movedAnswer{}}})},
	}
}

func leverNames() []string {
	return slices.Concat(lever.Names(), lever.FreezeNames(), []string{lever.Removals, lever.Merge, lever.Close, lever.Reopen}, lever.StackNames())
}

// leverFields returns what the form of an action has. The last three are only there when it is performed.
func leverFields() []param {
	return []param{
		{name: "env", about: "The environment. Of a freeze, one of its environments."},
		{name: "commit", about: "The commit to approve, to promote, to roll back to, or to except, or the change whose removals are approved; without it, the one that is next, was before, or waits."},
		{name: "scope", about: "Of a hold, or a freeze: `output` or `promotion`."}, {name: "lane", about: "The lane of the environment that the action is about alone."}, {name: "wave", about: "The wave that is approved, of the advance that `commit` names, or of the running one."}, {name: "name", about: "The name of a freeze."},
		{name: "from", about: "When a freeze begins: as `2026-12-24`, `2026-12-24T18:00:00+01:00`, `36h` or `7d`."}, {name: "to", about: "When it ends."},
		{name: "stack", about: "Of an action on a stack: the stack, as `TEAM/STACK`."}, {name: "component", about: "The component whose plan is approved."},
		{name: "inputs", about: "The digest of the inputs of the plan that was read."}, {name: "digest", about: "The digest of the plan that was read, where plans are compared before they are applied."},
		{name: "force", about: "With `true`, override what is against it."},
		{name: "reason", about: "Why, for the history."}, {name: "typed", about: "Of a teardown: the stack once more, as the person has typed it."}, {name: "seen", about: "What GET has in the field seen, or `force`."},
	}
}

var fleetParams = map[string]string{
	"environment": "The environment.", "with": "The environment to compare with.", "type": "Only this cluster type.", "cluster": "Only the cluster of this name.", "standing": "Only clusters with this status.",
	"workload": "A deployment target, an object as Kind/namespace/name, or the last part of that.", "at": "A time, or a day: what was then.", "since": "Only since a time, or a day.",
	"limit": "The most items, from 1 to 1,000, which is the default.", "after": "The `next` of the part before.",
}

func describeFleet() map[string]operation {
	all := map[string]operation{"POST /deployment_state": {
		summary: "How far clusters have got with a commit, as Kalypso says it",
		about:   "For scripts of Kalypso's Observability Hub. The folder of the cluster type decides, and not the commit: a cluster with a later commit that changed nothing for it has succeeded.",
		body:    stateRequest{},
		answers: replies{
			http.StatusOK: {about: "How far they have got; nobody where the endpoint is unknown.", of: []any{fleetview.DeploymentState{}}}, http.StatusBadRequest: unreadable, http.StatusForbidden: fromOtherSite,
			http.StatusNotFound: {about: "The daemon has no ledger."}, http.StatusServiceUnavailable: {about: "The ledger cannot be queried now."},
		},
	}}
	for _, q := range fleetview.Describe() {
		one := operation{summary: q.Title, about: q.About, answers: replies{
			http.StatusOK: {about: "The answer. Its `ETag` changes when it does.", of: []any{q.Answer}}, http.StatusNotModified: notModified, http.StatusBadRequest: wrongParameter,
			http.StatusNotFound: {about: "A name is unknown, or the daemon has no ledger."}, http.StatusServiceUnavailable: {about: "The ledger cannot be queried now."},
		}}
		for _, name := range q.Parameters {
			one.query = append(one.query, param{name: name, about: fleetParams[name], isNumber: name == "limit"})
		}
		all["GET "+fleetQuestions+q.Name] = one
	}
	return all
}

// planAnswer is the answer to tofu-controller, and planReceipt the answer to the job that sends plans.
type planAnswer struct {
	Passed bool   `json:"passed"` // whether tofu-controller may continue
	Reason string `json:"reason"`
	Digest string `json:"digest,omitempty"` // of the plan, if it was read
}

type planReceipt struct {
	planAnswer
	Kept bool `json:"kept"` // whether a component waits with this plan, so that pages show it
}

func describeReports() map[string]operation {
	cluster := param{name: "cluster", about: "The name of the cluster that the key belongs to."}
	anyObject := map[string]any{}
	return map[string]operation{
		"POST " + webhooks: {
			summary: "Notify of an event in a repository or a cluster",
			about:   "For the webhooks of forges, and the events of clusters. A delivery of a forge wakes the daemon, and decides nothing. The sender proves to know the secret: GitHub with `X-Hub-Signature-256`, Gitea with `X-Gitea-Signature`, Forgejo with `X-Forgejo-Signature`, GitLab with `X-Gitlab-Token`. flux is for the events that Flux's notification-controller posts with a provider of type generic-hmac (`X-Signature`) and a secret that all clusters share. The body must be under 25 MB, and an event under 1 MiB.",
			names:   []param{{name: "forge", about: "The kind of forge, gitea for Forgejo too; or flux.", values: []string{"github", "gitlab", "gitea", "flux"}}}, body: anyObject,
			answers: replies{
				http.StatusOK: {about: "The delivery was received before, is a ping, or is an event without news.", of: []any{woken{}}}, http.StatusAccepted: {about: "The next cycle begins, or does so when the current one has ended.", of: []any{woken{}}},
				http.StatusNoContent: {about: "The event, or the repository, does not concern the daemon."}, http.StatusBadRequest: {about: "The body cannot be read, or is an event of a cluster that is older than a day or ahead of the clock."},
				http.StatusUnauthorized: {about: "The signature is missing or wrong."}, http.StatusNotFound: {about: "The kind does not exist, or its webhooks are not set up."}, http.StatusConflict: {about: "The event names a cluster that reports with its own key."},
				http.StatusRequestEntityTooLarge: bodyTooLarge, http.StatusServiceUnavailable: {about: "The secret cannot be read."},
			},
		},
		"POST " + clusterReports: {
			summary: "Report what a cluster runs, with the key of the cluster",
			about:   "For the events of a cluster that has a key of its own, which `fairlead fleet token CLUSTER` prints. flux is for the events that Flux's notification-controller posts with a provider of type generic-hmac (`X-Signature`), argocd for the body that the template in [Bootstrap a cluster](../how-to/bootstrap-a-cluster.md) makes Argo CD's notifications send (`Authorization: Bearer KEY`). The body must be under 1 MiB.",
			names:   []param{{name: "tool", about: "The tool that reports.", values: []string{"flux", "argocd"}}, cluster}, body: anyObject,
			answers: replies{
				http.StatusOK: {about: "The event has no news.", of: []any{woken{}}}, http.StatusAccepted: {about: "The next cycle begins, or does so when the current one has ended.", of: []any{woken{}}}, http.StatusNoContent: {about: "The event is not about a rollout."},
				http.StatusBadRequest: {about: "The body cannot be read, names another cluster, or is older than a day or ahead of the clock."}, http.StatusUnauthorized: {about: "The signature or the key is missing or wrong, or the name is not valid for a cluster."},
				http.StatusConflict: {about: "Another cluster reports under the name."}, http.StatusNotFound: {about: "The tool does not exist, or the settings have no secret for the keys of clusters."},
				http.StatusRequestEntityTooLarge: bodyTooLarge, http.StatusServiceUnavailable: {about: "The key of the cluster is not known yet, or the secret cannot be read."},
			},
		},
		"POST " + planQuestions: {
			summary: "Ask whether a plan is the one that was approved",
			about:   "For `spec.webhooks` of the Terraform objects of stacks: tofu-controller sends an object with the plan that it has made, and continues if `passed` is true. A plan passes that is not applied, that changes nothing, or whose digest the annotation `fairlead.io/plan-digest` of the object has. The answer follows from the request alone, and nothing is stored. The body must be under 16 MiB.",
			body:    anyObject,
			answers: replies{
				http.StatusOK: {about: "Whether tofu-controller may continue, and why.", of: []any{planAnswer{}}}, http.StatusBadRequest: {about: unreadable.about, of: []any{planAnswer{}}}, http.StatusRequestEntityTooLarge: {about: bodyTooLarge.about, of: []any{planAnswer{}}},
			},
		},
		"POST " + clusterPlans: {
			summary: "Send a plan, with the key of the cluster",
			about:   "For a job on a cluster that has a key of its own: `Authorization: Bearer KEY`. The body is a Terraform object with its plan in JSON as `status.tfplan`. The plan is kept if `status.plan.pending` and the annotation `fairlead.io/inputs` are what the output has of a component. [See plans on the page](../how-to/from-cloudknit.md#see-plans-on-the-page) has the job. The body must be under 16 MiB.",
			names:   []param{cluster}, body: anyObject,
			answers: replies{
				http.StatusOK: {about: "The plan was read.", of: []any{planReceipt{}}}, http.StatusBadRequest: {about: "The body is not a Terraform object with a plan."}, http.StatusUnauthorized: {about: "The key is missing or wrong, or the name is not valid for a cluster."},
				http.StatusNotFound: {about: "The settings have no secret for the keys of clusters."}, http.StatusRequestEntityTooLarge: bodyTooLarge, http.StatusServiceUnavailable: {about: "The key of the cluster is not known yet, or the secret cannot be read."},
			},
		},
		"POST " + agentapi.Path: {
			summary: "Report what a cluster runs",
			about:   "For `fairlead-agent`. The agent reports again and again; as long as nothing has changed it sends only the digest of what it has read. `X-Fairlead-Signature` is `sha256=` and, in hexadecimal digits, the HMAC with SHA-256 of `POST`, a line break, `/api/v1/fleet/reports`, a line break and the body as it is sent; its key is the text that `fairlead fleet token` prints. The body may be compressed (`Content-Encoding: gzip`), and has at most 1 MiB, and 4,096 objects.",
			headers: []param{{name: "X-Fairlead-Cluster", about: "The name of the cluster."}, {name: "X-Fairlead-Signature", about: "The signature."}}, body: agentapi.Request{},
			answers: replies{
				http.StatusOK: {about: "The report counts, and the agent should do something.", of: []any{agentapi.Answer{}}}, http.StatusNoContent: {about: "The report counts."}, http.StatusBadRequest: unreadable,
				http.StatusUnauthorized: {about: "The signature is wrong, or the report was sent before."}, http.StatusNotFound: {about: "The settings have no secret of the ledger."}, http.StatusConflict: {about: "Another cluster reports under this name."},
				http.StatusRequestEntityTooLarge: bodyTooLarge, http.StatusTooManyRequests: {about: "The cluster reports too often. `Retry-After` is when to try again."}, http.StatusServiceUnavailable: {about: "The report cannot be stored, or the key cannot be checked. `Retry-After` is when to try again."},
			},
		},
	}
}
