// Package explain answers questions about an environment: why an assignment exists,
// where a value comes from, what a rendered file is made of.
//
// [AnswerQuery] describes queries. An [Answer] is complete, sorted data; [Answer.Text]
// cuts long lists.
//
// Answers come from the model and the code that renders it, so they explain what is
// really rendered. Equal model and query have equal answers. The cost does not grow
// with the number of assignments.
package explain

import (
	"cmp"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/render"
)

// Answer is the answer to one query: exactly one of its pointers is set.
type Answer struct {
	Query       string       `json:"query" yaml:"query"`
	Environment string       `json:"environment" yaml:"environment"`
	Assignment  *Assignment  `json:"assignment,omitempty" yaml:"assignment,omitempty"`
	File        *File        `json:"file,omitempty" yaml:"file,omitempty"`
	ClusterType *ClusterType `json:"clusterType,omitempty" yaml:"clusterType,omitempty"`
	Workload    *Workload    `json:"workload,omitempty" yaml:"workload,omitempty"`
	Target      *Target      `json:"target,omitempty" yaml:"target,omitempty"`
	Policy      *Policy      `json:"policy,omitempty" yaml:"policy,omitempty"`
	Config      *Config      `json:"config,omitempty" yaml:"config,omitempty"` // of a ConfigMap or ConfigSchema
	Template    *Template    `json:"template,omitempty" yaml:"template,omitempty"`
	Manifest    *Manifest    `json:"manifest,omitempty" yaml:"manifest,omitempty"` // an InputManifest
	Pool        *Pool        `json:"pool,omitempty" yaml:"pool,omitempty"`
	Step        *Step        `json:"step,omitempty" yaml:"step,omitempty"`
	Stack       *Stack       `json:"stack,omitempty" yaml:"stack,omitempty"`
	StackObject *StackObject `json:"stackObject,omitempty" yaml:"stackObject,omitempty"` // of a Team or the StackSettings
}

// Options are what answers depend on besides the model.
type Options struct {
	Rendering render.Options
	// Environment is the queried environment if the model is another one's: an
	// ephemeral environment is made from one. "" means the model's.
	Environment string
	// Clusters returns the existing clusters, from which a plan starts. It is called at
	// most once, and may be nil.
	Clusters func() []provision.State
	// PlacedSince returns since which commit a unit of a policy is on a cluster type, by the decision that is written at
	// a position; "" if that is not known. It may be nil.
	PlacedSince func(at problem.Pos, policy, unit, clusterType string) (commit string, since time.Time)
	// ChangedLast returns the commit that changed a file of the environment's branch last, and its author; "" if that is not
	// known. It may be nil.
	ChangedLast func(file string) (commit, author string, at time.Time)
}

// Placed is the commit since which a unit is on a cluster type.
type Placed struct {
	Commit string    `json:"commit" yaml:"commit"`
	At     time.Time `json:"at" yaml:"at"`
}

// Object identifies an object of the control plane and its position.
type Object struct {
	Kind string      `json:"kind" yaml:"kind"`
	Name string      `json:"name" yaml:"name"`
	At   problem.Pos `json:"at" yaml:"at"`
}

func objectOf(from object) Object {
	o := from.ObjectMeta()
	return Object{o.Kind, o.Name, o.Pos}
}

func (o Object) subject() string { return o.Kind + "/" + o.Name }

// AnswerQuery answers a query about the model, rendered with the given options. A query is one of:
//
//	<team>/<environment>                          a stack
//	<team>/<environment>/<component>              a component of a stack
//	<cluster type>/<target>                       an assignment, whether it exists or not
//	<target>@<cluster type>                       the same
//	<target> on <cluster type>                    the same
//	<workload>-<workload>-<target>-<cluster type> the same, as Kalypso names it
//	<cluster type>/<target>/<file>                a rendered file
//	<cluster type>/README.md                      the same
//	.github/tracking/Promoted_Commit_Id           the same
//	clusters/<executor>/<manifest>/<file>         the same
//	InputManifest/<namespace>/<manifest>          a manifest of clusters; without the namespace if one has the name
//	NodePool/<namespace>/<manifest>/<pool>        a pool of a manifest of clusters
//	Step/<id>                                     a step of the plan for clusters
//	Step/<namespace>/<manifest>/<id>              the same, where other manifests have one of this id
//	<Kind>/<name>                                 an object: see below
//	<name>                                        an object, if only one has the name
//
// The kinds are ClusterType, Workload, DeploymentTarget, SchedulingPolicy,
// ConfigMap, ConfigSchema and Template; of stacks Environment, Team and StackSettings; a
// deployment target has its full name, <workload>-<target>. For a query that names nothing,
// or more than one thing, the error is a [*QueryError].
func AnswerQuery(m *model.Model, query string, o Options) (Answer, error) {
	q := &explainer{model: m, plan: schedule.NewPlan(m, nil), options: o.Rendering, placedSince: o.PlacedSince, changedLast: o.ChangedLast, findClusters: func() []provision.State { return nil }}
	if o.Clusters != nil {
		q.findClusters = sync.OnceValue(o.Clusters)
	}
	named := *m
	named.Environment = cmp.Or(o.Environment, m.Environment)
	s, err := resolveQuery(&named, query)
	if err != nil {
		return Answer{}, q.describeLeaving(query, err)
	}
	a := Answer{Query: query, Environment: named.Environment}
	s.answer(q, &a)
	if q.err != nil {
		return Answer{}, q.err
	}
	return a, nil
}

type explainer struct {
	model        *model.Model
	plan         *schedule.Plan
	options      render.Options
	cache        values.Cache
	resolver     *values.Resolver
	plans        []manifestPlan // nil until made
	err          error          // set if no answer exists after all
	findClusters func() []provision.State
	placedSince  func(at problem.Pos, policy, unit, clusterType string) (commit string, since time.Time) // may be nil
	changedLast  func(file string) (commit, author string, at time.Time)                                 // may be nil
}

// valueResolver creates the resolver on first use. It ignores problems, which rendering
// reports.
func (q *explainer) valueResolver() *values.Resolver {
	if q.resolver == nil {
		q.resolver, _ = values.NewResolver(q.model, &q.cache)
	}
	return q.resolver
}

func (q *explainer) assignmentAt(i, j int) schedule.Assignment {
	return schedule.Assignment{ClusterType: q.model.ClusterTypes[i], Target: q.model.Targets[j]}
}

type object interface{ ObjectMeta() *model.Object }

func namesOf[T object](all []T) []string {
	return list.Convert(all, func(o T) string { return o.ObjectMeta().Name })
}
