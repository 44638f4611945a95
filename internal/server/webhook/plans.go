package webhook

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/server/intake"
)

const (
	planSender = "tofu-controller"
	// maxQuestionSize bounds a plan query, in bytes: a component with some thousand resources.
	maxQuestionSize = 16 << 20
)

// The answers to queries without a usable plan.
var (
	questionTooLarge  = tfplan.Answer{Reason: "the plan is too large to be compared: it must be under 16 MiB"}
	questionMalformed = "the payload is not a question of tofu-controller about a plan: "
)

var planOutcomes = []string{"passed", "refused", "malformed", "too-large"}

// planReviewer answers whether tofu-controller may continue with a plan. tofu-controller cannot
// authenticate, so an answer reveals only what follows from the query, and has no effect here.
type planReviewer struct {
	room    *intake.Room
	one     chan struct{} // one query at a time: a plan takes much memory
	observe func(sender, outcome string)
}

// NewPlanReviewer returns the handler of POST /webhooks/plans. tofu-controller calls it after
// planning, and before applying an approved plan. observe counts queries and may be nil. It is safe
// for concurrent use.
func NewPlanReviewer(observe func(sender, outcome string)) http.Handler {
	if observe == nil {
		observe = func(string, string) {}
	}
	return &planReviewer{room: intake.NewRoom(2 * maxQuestionSize), one: make(chan struct{}, 1), observe: observe}
}

func (p *planReviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, outcome, answer := p.answer(w, r)
	p.observe(planSender, outcome)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// answer also returns the outcome for metrics. tofu-controller takes a status other than 200 for a
// refusal.
func (p *planReviewer) answer(w http.ResponseWriter, r *http.Request) (code int, outcome string, answer tfplan.Answer) {
	if r.ContentLength > maxQuestionSize {
		return http.StatusRequestEntityTooLarge, "too-large", questionTooLarge
	}
	body, release, err := p.room.ReadBody(w, r, maxQuestionSize)
	defer release()
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return http.StatusRequestEntityTooLarge, "too-large", questionTooLarge
	}
	if err == nil {
		select {
		case p.one <- struct{}{}:
			defer func() { <-p.one }() // even if reading what anybody may send panics
			answer, err = tfplan.AnswerQuestion(body)
		case <-r.Context().Done():
			err = r.Context().Err()
		}
	}
	switch {
	case err != nil:
		return http.StatusBadRequest, "malformed", tfplan.Answer{Reason: questionMalformed + err.Error()}
	case answer.Passed:
		return http.StatusOK, "passed", answer
	}
	return http.StatusOK, "refused", answer
}
