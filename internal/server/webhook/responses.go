package webhook

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

type response struct {
	outcome    string // for metrics
	code       int
	body       any           // a responseBody or planReceipt
	retryAfter time.Duration // 0 to omit it
}

type responseBody struct {
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

var (
	woken    = response{outcome: "woken", code: http.StatusAccepted, body: responseBody{Message: "the next cycle starts now"}}
	repeated = response{outcome: "seen", code: http.StatusOK, body: responseBody{Message: "seen"}}
	pong     = response{outcome: "ping", code: http.StatusOK, body: responseBody{Message: "pong"}}

	ignored           = response{outcome: "ignored", code: http.StatusNoContent}
	unknownRepository = response{outcome: "unknown-repository", code: http.StatusNoContent}

	unauthorized = response{outcome: "unauthorized", code: http.StatusUnauthorized, body: responseBody{
		Error: "the signature is missing or wrong", Hint: "give the webhook the secret that the settings name"}}
	wrongKey = response{outcome: "unauthorized", code: http.StatusUnauthorized, body: responseBody{
		Error: "the key of the cluster is missing or wrong", Hint: "store the key that fairlead fleet token prints for this very name on the cluster"}}
	tooLarge = response{outcome: "too-large", code: http.StatusRequestEntityTooLarge, body: responseBody{
		Error: "the payload is too large", Hint: "it must be under 25 MB; the next poll finds what has changed"}}
	malformed = response{outcome: "malformed", code: http.StatusBadRequest, body: responseBody{
		Error: "the payload cannot be read", Hint: "set the content type of the webhook to application/json"}}
	notSetUp = response{outcome: "not-set-up", code: http.StatusNotFound, body: responseBody{
		Error: "webhooks of this kind are not set up", Hint: "write where their secret is under webhooks in the settings"}}
	eventTooOld = response{outcome: "malformed", code: http.StatusBadRequest, body: responseBody{
		Error: "the event is older than a day", Hint: "it was kept and sent again, and counts no more; if it is new, set the clock of the cluster, and that of fairlead"}}
	eventInFuture = response{outcome: "malformed", code: http.StatusBadRequest, body: responseBody{
		Error: "the time of the event is still to come", Hint: "set the clock of the cluster, and that of fairlead"}}
	noTimestamp = response{outcome: "malformed", code: http.StatusBadRequest, body: responseBody{
		Error: "the timestamp of the event is missing, or is no time", Hint: "it is written as 2026-01-05T12:00:00Z; a Provider of type generic-hmac does so"}}
	notFluxEvent = response{outcome: "malformed", code: http.StatusBadRequest, body: responseBody{
		Error: "the body is not an event of Flux", Hint: "send the events with a Provider of type generic-hmac: https://github.com/fairlead-io/fairlead/blob/main/docs/reference/settings.md"}}
	notArgoCDEvent = response{outcome: "malformed", code: http.StatusBadRequest, body: responseBody{
		Error: "the body is not what the template for Argo CD sends", Hint: "https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/bootstrap-a-cluster.md has the template"}}
	otherCluster = response{outcome: "malformed", code: http.StatusBadRequest, body: responseBody{
		Error: "the event names another cluster than its address", Hint: "write the same name into eventMetadata.cluster of the Alert, or remove it there"}}
	nameProven = response{outcome: "unproven", code: http.StatusConflict, body: responseBody{
		Error: "a cluster of this name reports with its own key", Hint: "give each cluster a name of its own, and its key: https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/bootstrap-a-cluster.md"}}
	contested = response{outcome: "contested", code: http.StatusConflict, body: responseBody{
		Error: "another cluster reports under this name", Hint: "give each cluster a name and a key of its own"}}
	renamed = response{outcome: "renamed", code: http.StatusUnauthorized, body: responseBody{
		Error: "the cluster reports under another name by now", Hint: "send its reports with its new name and key"}}
	noClusterKeys = response{outcome: "not-set-up", code: http.StatusNotFound, body: responseBody{
		Error: "clusters have no keys of their own", Hint: "write where the secret for them is under ledger in the settings"}}
	reportTooLarge = response{outcome: "too-large", code: http.StatusRequestEntityTooLarge, body: responseBody{
		Error: "the report is too large", Hint: "it must be under 1 MiB"}}
	planTooLarge = response{outcome: "too-large", code: http.StatusRequestEntityTooLarge, body: responseBody{
		Error: "the plan is too large", Hint: "it must be under 16 MiB"}}
	keyUnknown = response{outcome: "failed", code: http.StatusServiceUnavailable, body: responseBody{
		Error: "it is not known which key the cluster has", Hint: "the control plane was not read yet, or .fairlead/clusters in it has problems; send it again"}}
	unknownReporter = response{code: http.StatusNotFound, body: responseBody{
		Error: "clusters do not report in this way", Hint: "flux, argocd and plans are there, each with the name of the cluster after it"}}
	secretUnreadable = response{outcome: "failed", code: http.StatusServiceUnavailable, body: responseBody{
		Error: "the signature cannot be checked", Hint: "the secret that the settings name cannot be read"}}
	unknownSender = response{code: http.StatusNotFound, body: responseBody{
		Error: "there is no such kind of webhook", Hint: "github, gitlab, gitea and flux are there; gitea is for Forgejo too"}}
)

func notPlan(err error) response {
	return response{outcome: "malformed", code: http.StatusBadRequest, body: responseBody{
		Error: "the body is not a Terraform object with its plan: " + err.Error(), Hint: "https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/from-cloudknit.md#see-plans-on-the-page has what to send"}}
}

func tooMany(wait time.Duration) response {
	return response{outcome: "too-many", code: http.StatusTooManyRequests, retryAfter: wait, body: responseBody{
		Error: "the cluster sends too many events", Hint: "send them again later; check whether its Alert selects more than it should"}}
}

func (a response) writeTo(w http.ResponseWriter) {
	if a.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((a.retryAfter+time.Second-1)/time.Second)))
	}
	if a.code == http.StatusNoContent {
		w.WriteHeader(a.code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.code)
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(a.body)
}
