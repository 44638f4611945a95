package answer

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
)

// Lever is the answer of GET /api/v1/levers/{lever}: what an operator action would do, before it is done.
type Lever struct {
	Lever       string `json:"lever"`
	Environment string `json:"environment,omitempty"`
	// Fields are what was asked for besides, by name.
	Fields map[string][]string `json:"fields,omitempty"`
	// Asks are the fields to fill in before it is known what is to be done; then nothing else is.
	Asks []LeverField `json:"asks,omitempty"`
	// Question is what a person confirms.
	Question string `json:"question"`
	// Effects are what the action leads to, one sentence each, and Nothing is why it would do nothing.
	Effects []string `json:"effects"`
	Nothing string   `json:"nothing,omitempty"`
	// From and To are the commits of the base before and after it.
	From *Commit `json:"from,omitempty"`
	To   *Commit `json:"to,omitempty"`
	// Choices are other commits to roll back to.
	Choices []Choice `json:"choices,omitempty"`
	// Impact is what changes in the output, as fairlead diff prints it, and Deletes reports whether that
	// deletes things on clusters. Unknown is why it is not known.
	Impact  string `json:"impact,omitempty"`
	Deletes bool   `json:"deletes,omitempty"`
	Unknown string `json:"unknown,omitempty"`
	// Refusal is why the action is refused, and Hint what to do about it. MayForce reports whether the person
	// may override it, and Forced are the objections that are overridden.
	Refusal  string   `json:"refusal,omitempty"`
	Hint     string   `json:"hint,omitempty"`
	MayForce bool     `json:"mayForce,omitempty"`
	Forced   []string `json:"forced,omitempty"`
	// NeedsReason reports whether the person has to say why.
	NeedsReason bool `json:"needsReason"`
	// Typed is what a person types to confirm it; "" for nothing.
	Typed string `json:"typed,omitempty"`
	// Reason is what the person has said already.
	Reason string `json:"reason,omitempty"`
	// Author, Branch, Head, Message and Files are the commit that is written, with an ellipsis for a reason
	// that is not written yet.
	Author  string             `json:"author"`
	Repo    string             `json:"repo,omitempty"`
	Branch  string             `json:"branch,omitempty"`
	Head    string             `json:"head,omitempty"`
	Message string             `json:"message,omitempty"`
	Files   []actions.FileEdit `json:"files,omitempty"`
	// Command is what does the same on the command line.
	Command string `json:"command"`
	// Seen identifies all of this: an action is performed on what was seen, or not at all.
	Seen string `json:"seen,omitempty"`
	// Moved reports that this is not what the person has seen before.
	Moved bool `json:"moved,omitempty"`
}

// Choice is a commit of the base that an operator action may name instead.
type Choice struct {
	Commit
	// Evidence is what is known of it in the environment; "" for nothing.
	Evidence promoter.Evidence `json:"evidence,omitempty"`
}

// LeverField is what a person has to say about an operator action.
type LeverField struct {
	// Name is that of the parameter.
	Name  string `json:"name"`
	Title string `json:"title"`
	Value string `json:"value,omitempty"`
	Hint  string `json:"hint,omitempty"`
	// Options are the values that there are, of which one, or several, may be chosen; none for any text.
	Options []string `json:"options,omitempty"`
	Chosen  []string `json:"chosen,omitempty"`
	Several bool     `json:"several,omitempty"`
	// Required reports whether it must not be empty.
	Required bool `json:"required,omitempty"`
}

// Has reports whether an option is chosen.
func (f LeverField) Has(option string) bool { return slices.Contains(f.Chosen, option) }

// Me is the answer of /api/v1/me: who somebody is, and what they may do.
type Me struct {
	SignedIn bool     `json:"signedIn"`
	Name     string   `json:"name,omitempty"`
	Email    string   `json:"email,omitempty"`
	Issuer   string   `json:"issuer,omitempty"`
	Subject  string   `json:"subject,omitempty"`
	Groups   []string `json:"groups"` // those that count
	// Permissions are what the person may do, by environment.
	Permissions []Permission `json:"permissions"`
	// Leave reports whether there is a session that the person can end.
	Leave bool `json:"leave"`
}

// Permission is what a person may do in one environment.
type Permission struct {
	Environment string   `json:"environment"`
	Levers      []string `json:"levers"`
	// Refused are the levers that the person may not use, and why.
	Refused []string `json:"refused,omitempty"`
}
