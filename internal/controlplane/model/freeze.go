package model

import (
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

type freezeSpec struct {
	Reason       string        `yaml:"reason" required:"true"`
	Scope        string        `yaml:"scope"`
	Environments []locatedText `yaml:"environments"`
	From         time.Time     `yaml:"from"`
	To           time.Time     `yaml:"to"`
	Except       []exceptSpec  `yaml:"except"`
	Waves        string        `yaml:"waves"`
}

type exceptSpec struct {
	Commit verbatimText `yaml:"commit" required:"true"`
	Reason string       `yaml:"reason" required:"true"`
}

// Freeze is a time in which environments do not change.
type Freeze struct {
	Object
	Reason       string
	Scope        string   // one of the scopes
	Environments []string // nil for all
	From, To     time.Time
	Except       map[string]string // reasons by commit
	PassesWaves  bool              // those of an advance that has begun
}

func (r *reader) newFreeze(o Object, s freezeSpec, d *decoder, n *yaml.Node) *Freeze {
	f := &Freeze{Object: o, Reason: s.Reason, Scope: d.parseScope(n, s.Scope), From: s.From, To: s.To, Except: map[string]string{}, PassesWaves: s.Waves == "pass"}
	d.checkOneOf(o.Pos, "spec.waves", s.Waves, "stop", "pass")
	for _, e := range s.Environments {
		f.Environments = append(f.Environments, e.Text)
	}
	for _, e := range s.Except {
		f.Except[string(e.Commit)] = e.Reason
	}
	if !s.To.IsZero() && !s.To.After(s.From) {
		d.addProblem(n, "", "spec.to is not after spec.from")
	}
	_, spec := yamldoc.FindPair(n, "spec")
	if key, _ := yamldoc.FindPair(spec, "environments"); key != nil && len(f.Environments) == 0 {
		d.addProblem(key, "list at least one, or remove the field to select all", "spec.environments names no environment")
	}
	return f
}
