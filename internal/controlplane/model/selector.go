package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
)

// Selector is a Kubernetes label selector. The zero Selector selects everything.
type Selector struct {
	// Requirements must all hold; they are sorted by key.
	Requirements []Requirement
}

// Operator compares a label with a list of values.
type Operator string

// The operators of Kubernetes.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
)

// Requirement is one condition on one label.
type Requirement struct {
	Key      string
	Operator Operator
	Values   []string
}

// Matches reports whether all requirements hold for the labels.
func (s Selector) Matches(labels map[string]string) bool {
	_, failed := s.Mismatch(labels)
	return !failed
}

// Mismatch returns the first requirement that does not hold for the labels; false if all hold.
func (s Selector) Mismatch(labels map[string]string) (Requirement, bool) {
	for _, r := range s.Requirements {
		if !r.Holds(labels) {
			return r, true
		}
	}
	return Requirement{}, false
}

// Holds reports whether the requirement holds for the labels. NotIn holds for a
// label that is absent; Exists holds for one that is empty.
func (r Requirement) Holds(labels map[string]string) bool {
	value, present := labels[r.Key]
	switch r.Operator {
	case In:
		return present && slices.Contains(r.Values, value)
	case NotIn:
		return !present || !slices.Contains(r.Values, value)
	case Exists:
		return present
	case DoesNotExist:
		return !present
	}
	return false
}

// String returns the requirement as kubectl writes it: "size in (large,small)".
func (r Requirement) String() string {
	switch r.Operator {
	case Exists:
		return r.Key
	case DoesNotExist:
		return "!" + r.Key
	}
	if r.Operator == In && len(r.Values) == 1 {
		return r.Key + "=" + r.Values[0]
	}
	return fmt.Sprintf("%s %s (%s)", r.Key, strings.ToLower(string(r.Operator)), strings.Join(r.Values, ","))
}

const everything = "everything"

// ParseSelector parses what [Selector.String] returns, and what kubectl takes: key=value, key!=value, key, !key,
// key in (a,b) and key notin (a,b), separated by commas. "" selects everything.
func ParseSelector(text string) (s Selector, ok bool) {
	if text == "" || text == everything {
		return s, true
	}
	for rest, more := text, true; more; {
		var part string
		part, rest, more = cutRequirement(rest)
		r, ok := parseRequirement(strings.TrimSpace(part))
		if !ok {
			return Selector{}, false
		}
		s.Requirements = append(s.Requirements, r)
	}
	return s, true
}

// cutRequirement cuts a text at the first comma that is not in parentheses.
func cutRequirement(text string) (part, rest string, more bool) {
	depth := 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

func parseRequirement(text string) (r Requirement, ok bool) {
	key, value, equals := strings.Cut(text, "=")
	name, list, listed := strings.Cut(text, "(")
	switch words := strings.Fields(name); {
	case listed && len(words) == 2 && strings.HasSuffix(list, ")"):
		r.Key, r.Operator = words[0], map[string]Operator{"in": In, "notin": NotIn}[words[1]]
		for v := range strings.SplitSeq(strings.TrimSuffix(list, ")"), ",") {
			r.Values = append(r.Values, strings.TrimSpace(v))
		}
		if r.Operator == "" {
			return r, false
		}
	case equals && strings.HasSuffix(key, "!"):
		r = Requirement{strings.TrimSuffix(key, "!"), NotIn, []string{value}}
	case equals:
		r = Requirement{key, In, []string{strings.TrimPrefix(value, "=")}}
	case strings.HasPrefix(text, "!"):
		r = Requirement{Key: text[1:], Operator: DoesNotExist}
	default:
		r = Requirement{Key: text, Operator: Exists}
	}
	return r, r.Key != "" && !strings.ContainsAny(r.Key, "! ()")
}

// String returns the requirements as kubectl writes them; "everything" if there
// are none.
func (s Selector) String() string {
	if len(s.Requirements) == 0 {
		return everything
	}
	parts := make([]string, len(s.Requirements))
	for i, r := range s.Requirements {
		parts[i] = r.String()
	}
	return strings.Join(parts, ", ")
}

// parseSelector returns the Selector of a spec. The errors are those of
// Kubernetes' own LabelSelectorAsSelector.
func (spec selectorSpec) parseSelector() (Selector, []error) {
	var s Selector
	var errs []error
	for key, value := range spec.MatchLabels {
		s.Requirements = append(s.Requirements, Requirement{Key: key, Operator: In, Values: []string{value}})
	}
	for _, e := range spec.MatchExpressions {
		r := Requirement{Key: e.Key, Operator: Operator(e.Operator), Values: slices.Clone(e.Values)}
		slices.Sort(r.Values)
		if err := r.checkOperator(); err != nil {
			errs = append(errs, err)
			continue
		}
		s.Requirements = append(s.Requirements, r)
	}
	slices.SortFunc(s.Requirements, func(a, b Requirement) int { return strings.Compare(a.String(), b.String()) })
	for _, r := range s.Requirements {
		if err := kubename.CheckLabelKey(r.Key); err != nil {
			errs = append(errs, err)
		}
		for _, v := range r.Values {
			if err := kubename.CheckLabelValue(v); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return s, errs
}

func (r Requirement) checkOperator() error {
	switch r.Operator {
	case In, NotIn:
		if len(r.Values) == 0 {
			return fmt.Errorf("operator %s on %q needs values", r.Operator, r.Key)
		}
	case Exists, DoesNotExist:
		if len(r.Values) > 0 {
			return fmt.Errorf("operator %s on %q takes no values", r.Operator, r.Key)
		}
	default:
		return fmt.Errorf("%q is not a valid label selector operator", string(r.Operator))
	}
	return nil
}
