package webhook

import (
	"encoding/json"
	"net/http"
)

// answer is the outcome of a delivery.
type answer struct {
	outcome string // the word by which it is counted
	code    int
	body    said
}

// said is the body of an answer.
type said struct {
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

var (
	woken = answer{"woken", http.StatusAccepted, said{Message: "the next cycle starts now"}}
	seen  = answer{"seen", http.StatusOK, said{Message: "seen"}}
	pong  = answer{"ping", http.StatusOK, said{Message: "pong"}}

	ignored           = answer{outcome: "ignored", code: http.StatusNoContent}
	unknownRepository = answer{outcome: "unknown-repository", code: http.StatusNoContent}

	unauthorized = answer{"unauthorized", http.StatusUnauthorized, said{
		Error: "the signature is missing or wrong", Hint: "give the webhook the secret that the settings name"}}
	tooLarge = answer{"too-large", http.StatusRequestEntityTooLarge, said{
		Error: "the payload is too large", Hint: "it must be under 25 MB; the next poll finds what has changed"}}
	malformed = answer{"malformed", http.StatusBadRequest, said{
		Error: "the payload cannot be read", Hint: "set the content type of the webhook to application/json"}}
	notSetUp = answer{"not-set-up", http.StatusNotFound, said{
		Error: "webhooks of this kind are not set up", Hint: "write where their secret is under webhooks in the settings"}}
	tooOld = answer{"malformed", http.StatusBadRequest, said{
		Error: "the event is older than a day", Hint: "it was kept and sent again, and counts no more; if it is new, set the clock of the cluster, and that of fairlead"}}
	tooEarly = answer{"malformed", http.StatusBadRequest, said{
		Error: "the time of the event is still to come", Hint: "set the clock of the cluster, and that of fairlead"}}
	noTime = answer{"malformed", http.StatusBadRequest, said{
		Error: "the timestamp of the event is missing, or is no time", Hint: "it is written as 2026-01-05T12:00:00Z; a Provider of type generic-hmac does so"}}
	noEvent = answer{"malformed", http.StatusBadRequest, said{
		Error: "that is no event of Flux", Hint: "let a Provider of type generic-hmac post here: docs/settings.md"}}
	failed = answer{"failed", http.StatusServiceUnavailable, said{
		Error: "the signature cannot be checked", Hint: "the secret that the settings name cannot be read"}}
	noForge = answer{code: http.StatusNotFound, body: said{
		Error: "there is no such kind of webhook", Hint: "github, gitlab, gitea and flux are there; gitea is for Forgejo too"}}
)

func (a answer) write(w http.ResponseWriter) {
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
