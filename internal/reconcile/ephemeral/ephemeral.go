// Package ephemeral makes, extends and removes environments that are there for a time.
//
// What the package keeps true:
//   - An ephemeral environment is a branch of the control plane, ephemeral/NAME, and
//     nothing else: no commit to the base, no state. It is made in one push, by
//     compare-and-swap, so that two of one name cannot be.
//   - It has an output of its own from its first commit on, so that it never writes
//     where the environment writes that it is a copy of.
//   - Of an output only that is removed which we have written for the environment: a
//     branch that we began for it, or the folders of our record.
package ephemeral

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// ErrMisuse means that something was asked for wrongly, or of what does not exist: to ask
// again has the same result, whatever becomes of the control plane.
var ErrMisuse = errors.New("misuse")

func newMisuse(hint, format string, args ...any) error {
	r := problem.Refusef(hint, format, args...)
	r.Kind = ErrMisuse
	return r
}

func checkTime(ttl time.Duration, expires, now time.Time) error {
	switch {
	case ttl <= 0:
		return newMisuse("as in --ttl 48h", "an environment cannot live for %s", ttl)
	case expires.Sub(now) > source.LongestLife:
		return newMisuse("extend it when it is time; what is wanted for longer is an environment, with a place in the chain",
			"it would live for %s from now, and %d days are the limit", daysText(expires.Sub(now)), int(source.LongestLife.Hours()/24))
	}
	return nil
}

func daysText(d time.Duration) string {
	if d%(24*time.Hour) != 0 {
		return fmt.Sprintf("%.1f days", math.Ceil(d.Hours()/24*10)/10) // above a limit it must not read as the limit
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// lastPart is the part of a life in which its end is near: a tenth.
const lastPart = 10

// NearEnd returns the time from which on the end of an environment is near.
func NearEnd(e *source.Ephemeral) time.Time {
	return e.Spec.Expires.Add(-e.Spec.Expires.Sub(e.Since) / lastPart)
}

// OutputLocation returns the branch and the path of the output of an environment that is made from another
// one, whose output goes to a place: a folder beside it, where the folder has its name
// and the branch has not, and else a branch of its own. shared says that the output is in
// the repository of the control plane, where the name of that branch is taken.
func OutputLocation(name, from string, to model.RepoRef, shared bool) (branch, folder string) {
	parts := strings.Split(path.Clean("/" + to.Path)[1:], "/")
	i := slices.Index(parts, from)
	if i >= 0 && !slices.Contains(strings.Split(to.Branch, "/"), from) {
		parts[i] = name
		return to.Branch, path.Join(parts...)
	}
	if shared {
		return sharedBranches + name, to.Path
	}
	return source.EphemeralBranches + name, to.Path
}

// sharedBranches is what the names of branches of outputs begin with, where the control
// plane is in the same repository.
const sharedBranches = "ephemeral-output/"

type spec struct {
	From         string    `yaml:"from"`
	Expires      time.Time `yaml:"expires"`
	ClusterTypes *selector `yaml:"clusterTypes,omitempty"`
	Stacks       []string  `yaml:"stacks,omitempty"`
}

type selector struct {
	MatchExpressions []expression `yaml:"matchExpressions"`
}

type expression struct {
	Key      string         `yaml:"key"`
	Operator model.Operator `yaml:"operator"`
	Values   []string       `yaml:"values,omitempty"`
}

func encodeEphemeral(name, from string, expires time.Time, types model.Selector, stacks []string) ([]byte, error) {
	written := spec{From: from, Expires: expires.UTC().Truncate(time.Second), Stacks: stacks}
	if len(types.Requirements) > 0 {
		written.ClusterTypes = &selector{}
	}
	for _, r := range types.Requirements {
		written.ClusterTypes.MatchExpressions = append(written.ClusterTypes.MatchExpressions, expression(r))
	}
	return model.EncodeObject("Ephemeral", name, written)
}

// withExpires returns the text of an Ephemeral with another end. Comments stay.
func withExpires(data []byte, expires time.Time) ([]byte, error) {
	return setSpecFields(data, "Ephemeral", map[string]string{"expires": expires.UTC().Format(time.RFC3339)})
}

// withOutput returns a text whose GitOpsRepo points elsewhere. Comments stay.
func withOutput(data []byte, branch, folder string) ([]byte, error) {
	fields := map[string]string{"branch": branch}
	if folder != "" {
		fields["path"] = folder
	}
	return setSpecFields(data, "GitOpsRepo", fields)
}

func setSpecFields(data []byte, kind string, fields map[string]string) ([]byte, error) {
	documents, err := yamldoc.Parse(data)
	if err != nil {
		return nil, err
	}
	edited := 0
	for _, document := range documents {
		root := yamldoc.RootOf(document)
		if yamldoc.FindText(root, "kind") != kind {
			continue
		}
		_, spec := yamldoc.FindPair(root, "spec")
		if spec == nil || spec.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("spec of the %s is not a mapping", kind)
		}
		edited++
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			var value yaml.Node
			value.SetString(fields[key])
			if key == "expires" {
				value.Tag = "!!timestamp"
			}
			yamldoc.SetScalar(spec, key, value)
		}
	}
	if edited != 1 {
		return nil, fmt.Errorf("there are %d objects of kind %s in the file, and not one", edited, kind)
	}
	return yamldoc.Encode(documents...)
}
