package reports

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

type response struct {
	outcome    string
	code       int
	body       any
	retryAfter time.Duration
}

func refuse(outcome string, code int, sentence, hint string) response {
	return response{outcome: outcome, code: code, body: agentapi.Refusal{Error: sentence, Hint: hint}}
}

var (
	unauthorized = refuse("unauthorized", http.StatusUnauthorized, "the key of the cluster is missing or wrong",
		"give the agent the key that fairlead fleet token prints for this name")
	replayed = refuse("replayed", http.StatusUnauthorized, "the report is not newer than the last one",
		"it was recorded and sent again, or the clock of the cluster was put back")
	renamed = refuse("renamed", http.StatusUnauthorized, "the cluster reports under another name by now",
		"give the agent its new name and key")
	secondName = refuse("second-name", http.StatusConflict, "the cluster still reports under another name",
		"stop the agent that has the other name: reports under this one are accepted after that")
	tooLarge = refuse("too-large", http.StatusRequestEntityTooLarge, "the report is too large",
		"at most 4,096 objects and 1 MiB are read")
	notSetUp = refuse("not-set-up", http.StatusNotFound, "reports of agents are not set up",
		"write ledger.secret into the settings")
	keysUnreadable = response{"unavailable", http.StatusServiceUnavailable, agentapi.Refusal{Error: "the key cannot be checked",
		Hint: "the secret that the settings name in ledger cannot be read"}, unavailableFor}
	unavailable = response{"unavailable", http.StatusServiceUnavailable, agentapi.Refusal{Error: "the report cannot be stored",
		Hint: "the log of the daemon says why"}, unavailableFor}
)

func refuseContested(c ledger.Contact, owner string) response {
	return refuse("contested", http.StatusConflict, fmt.Sprintf("another cluster reports as %s: that one has the uid %s, and this one %s", c.Name, owner, c.UID),
		fmt.Sprintf("give each cluster a name and a key of its own; if this one was built in the place of the other one, run fairlead fleet adopt %s once that is off", c.Name))
}

func refuseMalformed(why string) response {
	return refuse("malformed", http.StatusBadRequest, why, "the agent and the daemon may be of versions that do not fit")
}

func tooMany(wait time.Duration) response {
	a := refuse("too-many", http.StatusTooManyRequests, "the cluster reports too often", "check whether two agents run")
	a.retryAfter = wait
	return a
}

func acceptReport(outcome string, answer agentapi.Answer) response {
	if answer == (agentapi.Answer{}) {
		return response{outcome: outcome, code: http.StatusNoContent}
	}
	return response{outcome: outcome, code: http.StatusOK, body: answer}
}

func (a response) writeTo(w http.ResponseWriter) {
	if a.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((a.retryAfter+time.Second-1)/time.Second)))
	}
	if a.body == nil {
		w.WriteHeader(a.code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.code)
	_ = json.NewEncoder(w).Encode(a.body)
}
