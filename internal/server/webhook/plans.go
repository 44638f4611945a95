package webhook

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/server/intake"
)

const (
	// planSender is the kind of sender that questions about plans are counted under.
	planSender = "tofu-controller"
	// maxQuestionSize bounds a question about a plan, in bytes: the plan of a component with some
	// thousand resources.
	maxQuestionSize = 16 << 20
)

// The answers to questions about plans that have no plan to speak of.
var (
	questionTooLarge  = tfplan.Answer{Reason: "the plan is too large to be compared: it must be under 16 MiB"}
	questionMalformed = "the payload is not a question of tofu-controller about a plan: "
)

// planOutcomes are the words by which questions about plans are counted.
var planOutcomes = []string{"passed", "refused", "malformed", "too-large"}

// planReviewer answers tofu-controller whether it may go on with a plan. The senders are not
// authenticated, since tofu-controller proves nothing: so the answer says nothing but what follows from
// the question, and nothing comes of it here.
type planReviewer struct {
	room    *intake.Room
	one     chan struct{} // has an element while a question is looked at: a plan takes much memory
	observe func(sender, outcome string)
}

// NewPlanReviewer returns the handler of POST /webhooks/plans, which tofu-controller calls after it has
// made a plan, and again before it applies one that was approved. observe counts a question, and may be
// nil. It is safe for concurrent use.
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
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

// answer returns the answer to a question, and the word by which it is counted. tofu-controller takes a
// code other than 200 for a no.
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
			answer, err = tfplan.AnswerQuestion(body)
			<-p.one
		case <-r.Context().Done(): // the client has gone
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
