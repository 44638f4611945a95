package webhook

import (
	"net/http"

	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

const planReports = "plans"

// planReceipt is the answer to a cluster's plan. Kept means that people can see it.
type planReceipt struct {
	tfplan.Answer
	Kept bool `json:"kept"`
}

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
		case <-r.Context().Done():
			return notPlan(r.Context().Err())
		}
	})
	p.finish(w, planSender, cluster, a)
}

func (p *receiver) handlePlan(body []byte, cluster string) response {
	wait := p.rates.TakeToken(cluster, p.options.Now())
	if wait > 0 {
		return tooMany(wait)
	}
	answer, err := tfplan.AnswerQuestion(body)
	if err != nil {
		return notPlan(err)
	}
	report, err := tfplan.ReadReport(body, p.options.Costs)
	if err != nil {
		return notPlan(err)
	}
	outcome := "refused"
	if answer.Passed {
		outcome = "passed"
	}
	return response{outcome: outcome, code: http.StatusOK, body: planReceipt{answer, p.options.Plan(cluster, report)}}
}
