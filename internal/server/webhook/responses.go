package webhook

import (
	"encoding/json"
	"net/http"
)

// response is the outcome of a delivery.
type response struct {
	outcome string // the word by which it is counted
	code    int
	body    responseBody
}

// responseBody is the body of an answer.
type responseBody struct {
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

var (
	woken    = response{"woken", http.StatusAccepted, responseBody{Message: "the next cycle starts now"}}
	repeated = response{"seen", http.StatusOK, responseBody{Message: "seen"}}
	pong     = response{"ping", http.StatusOK, responseBody{Message: "pong"}}

	ignored           = response{outcome: "ignored", code: http.StatusNoContent}
	unknownRepository = response{outcome: "unknown-repository", code: http.StatusNoContent}

	unauthorized = response{"unauthorized", http.StatusUnauthorized, responseBody{
		Error: "the signature is missing or wrong", Hint: "give the webhook the secret that the settings name"}}
	tooLarge = response{"too-large", http.StatusRequestEntityTooLarge, responseBody{
		Error: "the payload is too large", Hint: "it must be under 25 MB; the next poll finds what has changed"}}
	malformed = response{"malformed", http.StatusBadRequest, responseBody{
		Error: "the payload cannot be read", Hint: "set the content type of the webhook to application/json"}}
	notSetUp = response{"not-set-up", http.StatusNotFound, responseBody{
		Error: "webhooks of this kind are not set up", Hint: "write where their secret is under webhooks in the settings"}}
	eventTooOld = response{"malformed", http.StatusBadRequest, responseBody{
		Error: "the event is older than a day", Hint: "it was kept and sent again, and counts no more; if it is new, set the clock of the cluster, and that of fairlead"}}
	eventInFuture = response{"malformed", http.StatusBadRequest, responseBody{
		Error: "the time of the event is still to come", Hint: "set the clock of the cluster, and that of fairlead"}}
	noTimestamp = response{"malformed", http.StatusBadRequest, responseBody{
		Error: "the timestamp of the event is missing, or is no time", Hint: "it is written as 2026-01-05T12:00:00Z; a Provider of type generic-hmac does so"}}
	notFluxEvent = response{"malformed", http.StatusBadRequest, responseBody{
		Error: "the body is not an event of Flux", Hint: "send the events with a Provider of type generic-hmac: https://github.com/fairlead-io/fairlead/blob/main/docs/reference/settings.md"}}
	notArgoCDEvent = response{"malformed", http.StatusBadRequest, responseBody{
		Error: "the body is not what the template for Argo CD sends", Hint: "https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/bootstrap-a-cluster.md has the template"}}
	otherCluster = response{"malformed", http.StatusBadRequest, responseBody{
		Error: "the event names another cluster than its address", Hint: "write the same name into eventMetadata.cluster of the Alert, or remove it there"}}
	nameProven = response{"unproven", http.StatusConflict, responseBody{
		Error: "a cluster of this name reports with its own key", Hint: "give each cluster a name of its own, and its key: https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/bootstrap-a-cluster.md"}}
	noClusterKeys = response{"not-set-up", http.StatusNotFound, responseBody{
		Error: "clusters have no keys of their own", Hint: "write where the secret for them is under ledger in the settings"}}
	reportTooLarge = response{"too-large", http.StatusRequestEntityTooLarge, responseBody{
		Error: "the report is too large", Hint: "it must be under 1 MiB"}}
	keyUnknown = response{"failed", http.StatusServiceUnavailable, responseBody{
		Error: "it is not known which key the cluster has", Hint: "the control plane was not read yet, or .fairlead/clusters in it has problems; send it again"}}
	unknownReporter = response{code: http.StatusNotFound, body: responseBody{
		Error: "clusters do not report in this way", Hint: "flux and argocd are there, each with the name of the cluster after it"}}
	secretUnreadable = response{"failed", http.StatusServiceUnavailable, responseBody{
		Error: "the signature cannot be checked", Hint: "the secret that the settings name cannot be read"}}
	unknownSender = response{code: http.StatusNotFound, body: responseBody{
		Error: "there is no such kind of webhook", Hint: "github, gitlab, gitea and flux are there; gitea is for Forgejo too"}}
)

func (a response) writeTo(w http.ResponseWriter) {
	if a.code == http.StatusNoContent {
		w.WriteHeader(a.code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.code)
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(a.body) // the client has gone
}
