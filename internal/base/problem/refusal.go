package problem

import "fmt"

// Refusal is the error of a request that was refused, with advice.
type Refusal struct {
	Operation string
	Reason    string
	Advice    string
	Kind      error // for errors.Is; nil for none
	Again     bool  // a retry may succeed
}

// Refusef returns a Refusal with advice and a reason.
func Refusef(advice, format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...), Advice: advice}
}

// WithHint adds advice to an error.
func WithHint(err error, advice string) *Refusal {
	return &Refusal{Reason: err.Error(), Advice: advice, Kind: err}
}

// Error returns operation, kind and reason.
func (r *Refusal) Error() string {
	switch {
	case r.Operation == "":
		return r.Reason
	case r.Kind != nil:
		return fmt.Sprintf("%s: %v: %s", r.Operation, r.Kind, r.Reason)
	}
	return fmt.Sprintf("%s: %s", r.Operation, r.Reason)
}

// Unwrap returns the kind.
func (r *Refusal) Unwrap() error { return r.Kind }

// Hint returns the advice.
func (r *Refusal) Hint() string { return r.Advice }
