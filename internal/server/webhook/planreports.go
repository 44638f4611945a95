package webhook

import (
	"net/http"

	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// planReports is the word in the address of the plans that clusters send.
const planReports = "plans"

// planReceipt is the answer to a plan that a cluster has sent: that to a question about it, and whether it is
// kept for people to see.
type planReceipt struct {
	tfplan.Answer
	Kept bool `json:"kept"`
}

// answerPlan answers a cluster that sends a plan with one of its keys.
func (p *receiver) answerPlan(w http.ResponseWriter, r *http.Request, cluster string, keys []string, err error) {
	known := authentication{readToken("Authorization", "Bearer "), keys, err, maxQuestionSize, planTooLarge, noClusterKeys}
	if p.options.Plan == nil {
		known.secrets, known.err = nil, nil
	}
	a := p.authenticate(w, r, known, func(body []byte) response {
		select {
		case p.plans <- struct{}{}:
			defer func() { <-p.plans }()
			return p.handlePlan(body, cluster)
		case <-r.Context().Done(): // the client has gone
			return notPlan(r.Context().Err())
		}
	})
	p.finish(w, planSender, cluster, a)
}

// handlePlan handles a plan whose sender has proven its name.
func (p *receiver) handlePlan(body []byte, cluster string) response {
	wait := p.rates.TakeToken(cluster, p.options.Now())
	if wait > 0 {
		return tooMany(wait)
	}
	answer, err := tfplan.AnswerQuestion(body)
	if err != nil {
		return notPlan(err)
	}
	report, err := tfplan.ReadReport(body)
	if err != nil {
		return notPlan(err)
	}
	outcome := "refused"
	if answer.Passed {
		outcome = "passed"
	}
	return response{outcome: outcome, code: http.StatusOK, body: planReceipt{answer, p.options.Plan(cluster, report)}}
}
