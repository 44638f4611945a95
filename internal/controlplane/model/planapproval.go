package model

import (
	"regexp"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// PlanApproval is a person's approval of one plan of one component. The person is the author of the
// commit that added it.
type PlanApproval struct {
	Object
	PlanApprovalSpec
}

// PlanApprovalSpec is the spec of a PlanApproval.
type PlanApprovalSpec struct {
	Stack     string       `yaml:"stack" required:"true"`
	Component string       `yaml:"component" required:"true"`
	Plan      verbatimText `yaml:"plan" required:"true"`
	Inputs    verbatimText `yaml:"inputs" required:"true"`
	// Output is a commit of the output branch at which the plan was read: from there on the
	// component has made no other plan.
	Output verbatimText `yaml:"output" required:"true"`
	// Digest is that of the plan that was read; "" if plans are not compared.
	Digest string `yaml:"digest"`
	Reason string `yaml:"reason"`
}

var planDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// IsPlanDigest reports whether a text can be the digest of a plan.
func IsPlanDigest(text string) bool { return planDigest.MatchString(text) }

// PlanRequest asks for another plan of one component, which is made of the same inputs: what was applied
// has changed since.
type PlanRequest struct {
	Object
	PlanRequestSpec
}

// PlanRequestSpec is the spec of a PlanRequest.
type PlanRequestSpec struct {
	Stack     string `yaml:"stack" required:"true"`
	Component string `yaml:"component" required:"true"`
	// After is the commit of the root module that was applied.
	After  verbatimText `yaml:"after" required:"true"`
	Reason string       `yaml:"reason"`
}

func isStackKind(kind string) bool {
	return kind == "StackSettings" || kind == "PlanApproval" || kind == "PlanRequest"
}

// readOwnStackKind reads an object of one of Fairlead's own kinds that is about stacks. Unlike the
// others it decides what is rendered, and its problems stop that.
func (r *reader) readOwnStackKind(n *yaml.Node, kind string, d *decoder) {
	s, before := &r.out.stacks, len(*d.problems)
	confine := func(name string, at problem.Pos) (stops bool) {
		found, stops := stopOnly((*d.problems)[before:], name, at)
		*d.problems = append((*d.problems)[:before], found...)
		return stops
	}
	switch {
	case kind == "StackSettings":
		o, spec, _ := readObject[StackSettingsSpec](r, n, kind, d)
		s.Settings = append(s.Settings, &StackSettings{o, spec})
	case r.layer.Kind == Base:
		d.addProblem(n, "write it on the branch of the environment that the plan is of", "a %s in the base would be of all environments", kind)
	case kind == "PlanRequest":
		o, spec, _ := readObject[PlanRequestSpec](r, n, kind, d)
		if !confine(spec.Stack, o.Pos) {
			s.Requests = append(s.Requests, &PlanRequest{o, spec})
		}
	default:
		o, spec, _ := readObject[PlanApprovalSpec](r, n, kind, d)
		if spec.Digest != "" && !IsPlanDigest(spec.Digest) {
			d.addProblem(n, "copy what fairlead stack plan --plans shows", "spec.digest is %q, which is not sha256: and 64 hexadecimal digits", spec.Digest)
		}
		if !confine(spec.Stack, o.Pos) {
			s.Approvals = append(s.Approvals, &PlanApproval{o, spec})
		}
	}
}
