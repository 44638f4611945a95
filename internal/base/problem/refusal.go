package problem

import "fmt"

// Refusal is the error for something that was asked for and not done: the reason, and what
// to do about it.
type Refusal struct {
	Operation string // that was refused; "" if the reason names it
	Reason    string
	Advice    string // "" if there is nothing useful to do
	Kind      error  // that errors.Is finds; nil for none
	Again     bool   // the same may succeed a moment later
}

// Refusef returns a Refusal with an advice and a reason.
func Refusef(advice, format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...), Advice: advice}
}

// WithHint adds an advice to an error.
func WithHint(err error, advice string) *Refusal {
	return &Refusal{Reason: err.Error(), Advice: advice, Kind: err}
}

// Error returns the reason, after the operation and the kind.
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
