package cost

import "fmt"

// Limit is how much more plans may cost.
type Limit struct {
	Increase int    `yaml:"increase" required:"increase: 100"` // in units of the currency
	Currency string `yaml:"currency" required:"currency: EUR"`
	Per      string `yaml:"per"` // "month", or "" for it
}

const maxIncrease = 999_999_999

// Check returns a hint and a sentence about a mistake; "" for none.
func (l Limit) Check() (hint, sentence string) {
	switch {
	case l.Increase < 0 || l.Increase > maxIncrease:
		return "write how much more it may cost, as in increase: 100", fmt.Sprintf("increase is %d, and should be from 0 to %d", l.Increase, maxIncrease)
	case !IsCurrency(l.Currency):
		return "write the currency in which the costs are sent, as in currency: EUR", fmt.Sprintf("the currency cannot be %q", l.Currency)
	case l.Per != "month" && l.Per != "":
		return "write per: month, or leave it out", fmt.Sprintf("per cannot be %q", l.Per)
	}
	return "", ""
}
