package schedule

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// QuestionVersion is the version of requests to external schedulers, and of their answers.
const QuestionVersion = model.OwnGroup + "/schedule/v1"

// Request asks an external scheduler where the units of a policy should be.
type Request struct {
	Version     string `json:"version"`
	Environment string `json:"environment"`
	Policy      string `json:"policy"`
	// Question is the digest of the request without itself, what units have, and what is used: of what the answer
	// depends on.
	Question     string            `json:"question,omitempty"`
	Pick         int               `json:"pick"` // -1 for all
	Config       json.RawMessage   `json:"config,omitempty"`
	ClusterTypes []RequestedType   `json:"clusterTypes"`
	Units        []RequestedPlaces `json:"units"`
}

// RequestedType is a cluster type that units may be placed on.
type RequestedType struct {
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels"`
	Taints   []string          `json:"taints"` // that the policy does not tolerate
	Capacity map[string]string `json:"capacity"`
	Used     map[string]string `json:"used,omitempty"`
	Clusters int               `json:"clusters"`
}

// RequestedPlaces is a unit, and the cluster types that it is on.
type RequestedPlaces struct {
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels"` // that all of its targets have
	Requests map[string]string `json:"requests"`
	Has      []string          `json:"has,omitempty"`
}

// Answer is what an external scheduler decided. Each unit of the request is in one of the lists.
type Answer struct {
	Version     string            `json:"version"`
	Question    string            `json:"question"`
	Units       []AnsweredUnit    `json:"units"`
	Unscheduled []UnscheduledUnit `json:"unscheduled"`
}

// AnsweredUnit is where a unit should be.
type AnsweredUnit struct {
	Name         string   `json:"name"`
	ClusterTypes []string `json:"clusterTypes"`
	Reason       string   `json:"reason,omitempty"`
}

// UnscheduledUnit is a unit without a place, and how many cluster types were refused for which reason.
type UnscheduledUnit struct {
	Name    string         `json:"name"`
	Reasons map[string]int `json:"reasons,omitempty"`
}

// Request returns what an external scheduler is asked for a policy with a choice. clusters has the number of
// clusters of each cluster type.
func (p *Plan) Request(policy *model.Policy, clusters map[string]int) Request {
	at := slices.Index(p.model.Policies, policy)
	s := p.decider.policies[at]
	r := Request{
		Version: QuestionVersion, Environment: p.model.Environment, Policy: policy.Name, Pick: policy.Choice.Pick, Config: policy.Choice.Decider.Config,
		ClusterTypes: []RequestedType{}, Units: []RequestedPlaces{},
	}
	for i, c := range p.model.ClusterTypes {
		if s.isSelected(i, c) {
			r.ClusterTypes = append(r.ClusterTypes, p.requestType(i, s, clusters[c.Name]))
		}
	}
	for _, u := range p.unitsOf(policy) {
		r.Units = append(r.Units, p.requestPlaces(u))
	}
	r.Question = r.digest()
	return r
}

func (p *Plan) unitsOf(policy *model.Policy) []*Unit {
	return slices.DeleteFunc(slices.Clone(p.Units()), func(u *Unit) bool { return u.Policy != policy })
}

func (p *Plan) requestType(i int, s *policyState, clusters int) RequestedType {
	c := p.model.ClusterTypes[i]
	t := RequestedType{Name: c.Name, Labels: orEmpty(c.Labels), Taints: []string{}, Capacity: map[string]string{}, Used: map[string]string{}, Clusters: clusters}
	for _, taint := range c.Taints {
		if !s.choice.Tolerates(taint) {
			t.Taints = append(t.Taints, taint.String())
		}
	}
	for _, u := range p.Usage(i) {
		t.Capacity[u.Resource], t.Used[u.Resource] = u.Capacity.String(), u.Used.String()
	}
	return t
}

func (p *Plan) requestPlaces(u *Unit) RequestedPlaces {
	places := RequestedPlaces{Name: u.Name, Requests: map[string]string{}}
	sum := model.Amounts{}
	for _, t := range u.Targets {
		target := p.model.Targets[t]
		for name, amount := range p.model.RequestsOf(target) {
			sum[name] = sum[name].Plus(amount)
		}
		if places.Labels == nil {
			places.Labels = orEmpty(maps.Clone(target.Labels))
		}
		maps.DeleteFunc(places.Labels, func(key, value string) bool { return target.Labels[key] != value })
	}
	for name, amount := range sum {
		places.Requests[name] = amount.String()
	}
	places.Has = list.Convert(u.Places, func(place Place) string { return p.model.ClusterTypes[place.ClusterType].Name })
	return places
}

// orEmpty returns a map that JSON writes as an object though it is nil.
func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func (r Request) digest() string {
	r.Question, r.ClusterTypes, r.Units = "", slices.Clone(r.ClusterTypes), slices.Clone(r.Units)
	for i := range r.ClusterTypes {
		r.ClusterTypes[i].Used = nil
	}
	for i := range r.Units {
		r.Units[i].Has = nil
	}
	text, _ := json.Marshal(r) // which has nothing that JSON cannot hold
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

// WrongAnswerError is the error of an answer that is not one to the request, or that cannot be followed.
type WrongAnswerError struct{ Reason string }

// Error returns the reason.
func (e *WrongAnswerError) Error() string { return e.Reason }

func wrongAnswerf(format string, args ...any) error {
	return &WrongAnswerError{fmt.Sprintf(format, args...)}
}

// ParseAnswer parses an answer to a request. An error is a [*WrongAnswerError].
func ParseAnswer(r Request, data []byte) (Answer, error) {
	var a Answer
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, wrongAnswerf("it is not an answer in JSON: %v", err)
	}
	switch {
	case a.Version != r.Version:
		return a, wrongAnswerf("its version is %q, and %s was asked", a.Version, r.Version)
	case a.Question != r.Question:
		return a, wrongAnswerf("it is the answer to another question, %q", a.Question)
	}
	left := map[string]bool{}
	for _, u := range r.Units {
		left[u.Name] = true
	}
	names := list.Convert(a.Units, func(u AnsweredUnit) string { return u.Name })
	for _, name := range append(names, list.Convert(a.Unscheduled, func(u UnscheduledUnit) string { return u.Name })...) {
		if !left[name] {
			return a, wrongAnswerf("it has the unit %q, which was not asked, or has it twice", name)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		return a, wrongAnswerf("it does not have the unit %q", slices.Sorted(maps.Keys(left))[0])
	}
	return a, nil
}

// Follow returns the decision that follows from an answer to the request of a policy. Of an answer to a question that
// the decision has an answer to, only units are taken that have lost a place or have none, unless the policy accepts
// changes. An error is a [*WrongAnswerError].
func (p *Plan) Follow(policy *model.Policy, r Request, a Answer, from string) (*model.Decision, error) {
	last, decider := p.model.DecisionOf(policy), policy.Choice.Decider
	d := &model.Decision{Object: model.Object{Kind: model.DecisionKind, Name: policy.Name}, By: decider.Name, From: from, Question: r.Question, Units: map[string][]string{}}
	answered := map[string][]string{}
	for _, u := range a.Units {
		answered[u.Name] = slices.Compact(slices.Sorted(slices.Values(u.ClusterTypes)))
	}
	known := last.Question == r.Question && last.By == decider.Name && !decider.AcceptChanges
	for _, u := range p.unitsOf(policy) {
		types := answered[u.Name]
		if known && len(u.had) > 0 && len(u.Lost) == 0 {
			types = u.had
		}
		if len(types) > 0 {
			d.Units[u.Name] = types
		}
	}
	return d, p.checkDecision(policy, d)
}

// checkDecision reports a decision of a policy that cannot be followed: with a place that is not fit, or that pushes
// units of others out.
func (p *Plan) checkDecision(policy *model.Policy, d *model.Decision) error {
	s := p.decider.policies[slices.Index(p.model.Policies, policy)]
	after, before := NewPlan(p.model.WithDecision(d), p), map[string][]string{}
	for _, u := range p.unitsOf(policy) {
		before[u.Name] = list.Convert(u.Places, func(place Place) string { return p.model.ClusterTypes[place.ClusterType].Name })
	}
	for _, u := range after.unitsOf(policy) {
		if len(u.Lost) > 0 {
			return wrongAnswerf("%s cannot be on %s: %s", u.Name, u.Lost[0].ClusterType, u.Lost[0])
		}
		if len(u.Places) == 0 && len(before[u.Name]) > 0 && policy.Choice.Pick != 0 {
			return wrongAnswerf("it leaves %s nowhere, which is on %s; pick: 0 removes it on purpose", u.Name, before[u.Name][0])
		}
		had := p.model.DecisionOf(policy).Units[u.Name]
		for _, place := range u.Places {
			c := p.model.ClusterTypes[place.ClusterType]
			if taint, tainted := s.repellingTaint(c, slices.Contains(had, c.Name)); tainted {
				return wrongAnswerf("%s cannot be on %s: taint %s", u.Name, c.Name, taint.Key)
			}
		}
	}
	for _, change := range Compare(p, after).Changes {
		if change.Unit.Policy != policy && len(change.Unit.Lost) > 0 {
			return wrongAnswerf("it pushes %s of %s out of %s", change.Unit.Name, change.Unit.Policy.Name, cmp.Or(change.Moves[0].From, change.Unit.Lost[0].ClusterType))
		}
	}
	return nil
}

// DescribeLosses returns the places that the units of a policy have lost, with the reasons; "" if there are none.
func (p *Plan) DescribeLosses(policy *model.Policy) string {
	var b strings.Builder
	for _, u := range p.unitsOf(policy) {
		for _, l := range u.Lost {
			fmt.Fprintf(&b, "%s %s %s\n", u.Name, l.ClusterType, l)
		}
	}
	return b.String()
}
