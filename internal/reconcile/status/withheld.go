package status

import "slices"

// Withheld is a reason why only a person may merge an environment's output.
type Withheld struct {
	// Cause is one word: "hold", "freeze", "removals", "changes" or "place".
	Cause  string `json:"cause"`
	Reason string `json:"reason"`
	// Acknowledge names the change for fairlead approve --removals; "" if that does not
	// end it.
	Acknowledge string `json:"acknowledge,omitempty"`
}

// limitCauses are the causes of a proposal that exceeds the environment's limits.
var limitCauses = []string{"removals", "changes"}

// ExceededLimit returns which limits a proposal exceeds; "" if none.
func (e Environment) ExceededLimit() string {
	i := slices.IndexFunc(e.Withheld, func(w Withheld) bool { return slices.Contains(limitCauses, w.Cause) })
	if i < 0 {
		return ""
	}
	return e.Withheld[i].Reason
}
