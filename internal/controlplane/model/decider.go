package model

import (
	"cmp"
	"encoding/json"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// DecidedByFairlead is the decider of choices that name none.
const DecidedByFairlead = "fairlead"

// Decider is who decides for a choice. The zero value is Fairlead.
type Decider struct {
	// Name is that of a scheduler in the settings; "" is Fairlead. Nothing is filled for a scheduler: what it has
	// decided is in the decision.
	Name string
	// Placement is the Placement of Open Cluster Management, as "namespace/name", that has decided; "" if none has.
	// Evaluated is true if it is decided here, and not read from its PlacementDecisions.
	// Partial is about cluster types of which it has decided on some clusters.
	Placement string
	Evaluated bool
	Partial   Partial
	// Pages are where the PlacementDecisions are that are read.
	Pages []problem.Pos
	// Config is sent to the scheduler, as JSON; nil is none.
	Config json.RawMessage
	// Unenforced lets the scheduler decide against taints and capacity.
	Unenforced bool
	// AcceptChanges takes a different answer to a question that the scheduler has answered before.
	AcceptChanges bool
}

// String returns the decider as it is written.
func (d Decider) String() string {
	if d.Placement != "" {
		return DecidedByOCM
	}
	return cmp.Or(d.Name, DecidedByFairlead)
}

// IsExternal reports whether an external scheduler decides.
func (d Decider) IsExternal() bool { return d.Name != "" }

func (a annotationText) readDecider(s *choiceSpec) Decider {
	var d Decider
	switch err := kubename.Check(s.By); {
	case s.By == "" || s.By == DecidedByFairlead:
	case s.By == DecidedByOCM:
		a.readPlacement(s, &d)
	case err != nil:
		a.addAt("by", "name a scheduler of the settings, or fairlead", "%s.by: %v", a.path, err)
	default:
		d.Name = s.By
	}
	d.AcceptChanges = a.oneOf("accept", s.Accept, "first", "changes") == "changes"
	d.Unenforced = s.Enforce != nil && !*s.Enforce
	if config := yamldoc.ResolveAlias(&s.Config); config.Kind != 0 {
		var value any
		text, err := []byte(nil), ExpandNode(config).Decode(&value)
		if err == nil {
			text, err = json.Marshal(value)
		}
		if err != nil || config.Kind != yaml.MappingNode {
			a.addAt("config", "write what JSON can hold", "%s.config should be a mapping whose keys are text", a.path)
		}
		d.Config = text
	}
	for field, written := range map[string]bool{"config": d.Config != nil, "enforce": s.Enforce != nil && d.Placement == "", "accept": s.Accept != ""} {
		if written && !d.IsExternal() {
			a.addAt(field, "remove it, or name a scheduler with by", "%s.%s is for a scheduler, and Fairlead decides", a.path, field)
		}
	}
	for field, text := range map[string]string{"placement": s.Placement, "evaluate": s.Evaluate, "partial": s.Partial} {
		if text != "" && s.By != DecidedByOCM {
			a.addAt(field, "write by: ocm, too", "%s.%s is for a Placement", a.path, field)
		}
	}
	return d
}
