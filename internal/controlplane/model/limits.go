package model

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// Limits bound what Fairlead merges without a person. A proposal that exceeds them waits
// until a person acknowledges exactly what it proposes.
type Limits struct {
	// Removals is the percentage of an environment's assignments, cluster types or
	// namespaces that a proposal may remove, and Few how many it may remove whatever
	// percentage that is.
	Removals, Few int
	// Last allows the last assignment of a workload or of a cluster type to be removed.
	Last bool
	// Changes is the percentage of the assignments that a proposal may change or remove.
	Changes int
}

// DefaultLimits returns the limits of an environment for which none are written.
func DefaultLimits() Limits { return Limits{Removals: 10, Few: 3, Changes: 100} }

// limitsSpec is the written part of limits. What a stage leaves out comes from the limits of
// all environments, and what those leave out from [DefaultLimits].
type limitsSpec struct {
	Removals string `yaml:"removals"`
	Few      *int   `yaml:"few"`
	Last     string `yaml:"last"`
	Changes  string `yaml:"changes"`
}

// AcknowledgeAnnotation on an environment's GitOpsRepo names changes that may be merged
// although they exceed its limits.
const AcknowledgeAnnotation = OwnGroup + "/removals"

// The values of last.
const (
	withholdLast = "withhold"
	allowLast    = "allow"
)

func (s limitsSpec) overrideLimits(base Limits, pos problem.Pos, d *decoder) Limits {
	base.Removals = d.parsePercent(pos, "limits.removals", s.Removals, base.Removals)
	base.Changes = d.parsePercent(pos, "limits.changes", s.Changes, base.Changes)
	if s.Few != nil {
		base.Few = *s.Few
	}
	d.checkOneOf(pos, "limits.last", s.Last, withholdLast, allowLast)
	if s.Last != "" {
		base.Last = s.Last == allowLast
	}
	return base
}

var percentage = regexp.MustCompile(`^(100|[1-9]?[0-9]) ?%$`)

// parsePercent parses a percentage and reports a malformed one. It returns otherwise if the text is
// empty or malformed.
func (d *decoder) parsePercent(pos problem.Pos, field, text string, otherwise int) int {
	if text == "" {
		return otherwise
	}
	found := percentage.FindStringSubmatch(text)
	if found == nil {
		d.problems.Addf(pos, d.subject, "write a whole number from 0 to 100 and a percent sign, as in 10%", "%s cannot be %q", field, text)
		return otherwise
	}
	n, _ := strconv.Atoi(found[1]) // 0 to 100
	return n
}

// ProposesRecord reports whether what is promoted to an environment is written by pull request.
func (p *Progress) ProposesRecord(environment string) bool {
	return slices.ContainsFunc(p.Promotions, func(promotion *Promotion) bool {
		return slices.ContainsFunc(promotion.Stages, func(s Stage) bool { return s.Name == environment && s.Record == "pull-request" })
	})
}

// LimitsOf returns the limits of an environment: those of its stage in the Promotion, or
// those that the Promotion has for all, or the default ones.
func (p *Progress) LimitsOf(environment string) Limits {
	if len(p.Promotions) != 1 {
		return DefaultLimits()
	}
	promotion := p.Promotions[0]
	for _, s := range promotion.Stages {
		if s.Name == environment {
			return s.Limits
		}
	}
	return promotion.Limits
}
