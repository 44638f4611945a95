package cli

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/problem"
)

// annotations writes problems as workflow commands of GitHub Actions. The file is
// the path in its repository, since a workflow has checked out one of them.
func annotations(list problem.List) string {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	var b strings.Builder
	for _, p := range list {
		command := "error"
		if p.Warning {
			command = "warning"
		}
		var properties []string
		if p.Pos.File != "" {
			properties = append(properties, "file="+property.Replace(p.Pos.File))
			if p.Pos.Line > 0 {
				properties = append(properties, fmt.Sprintf("line=%d", p.Pos.Line))
			}
		}
		if p.Subject != "" {
			properties = append(properties, "title="+property.Replace(p.Subject))
		}
		fmt.Fprintf(&b, "::%s %s::%s\n", command, strings.Join(properties, ","), message.Replace(sentence(p)))
	}
	return b.String()
}

// sentence gives what is wrong, where it is if that is another layer's file, and
// what to do.
func sentence(p problem.Problem) string {
	text := p.Summary
	if p.Pos.Layer != "" {
		text += " (in " + p.Pos.String() + ")"
	}
	if p.Hint != "" {
		text += "\n" + p.Hint
	}
	return text
}

// The parts of a SARIF 2.1.0 log that code scanning shows.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID          string    `json:"id"`
		Description sarifText `json:"shortDescription"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// sarif writes problems as a SARIF log. The rule is the kind of the object that is
// wrong.
func sarif(list problem.List) sarifLog {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "fairlead", InformationURI: "https://github.com/fairlead-io/fairlead", Rules: []sarifRule{}}
	seen := map[string]bool{}
	for _, p := range list {
		kind, _, _ := strings.Cut(p.Subject, "/")
		if kind == "" {
			kind = "File"
		}
		if !seen[kind] {
			seen[kind] = true
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{kind, sarifText{"A mistake in a " + kind + " of the control plane"}})
		}
		r := sarifResult{RuleID: kind, Level: "error", Message: sarifText{sentence(p)}}
		if p.Warning {
			r.Level = "warning"
		}
		location := sarifLocation{}
		if p.Pos.File != "" {
			location.Physical = &sarifPhysical{Artifact: sarifArtifact{p.Pos.File}}
			if p.Pos.Line > 0 {
				location.Physical.Region = &sarifRegion{p.Pos.Line}
			}
		}
		if p.Subject != "" {
			location.Logical = []sarifLogical{{p.Subject}}
		}
		r.Locations = []sarifLocation{location}
		run.Results = append(run.Results, r)
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}
