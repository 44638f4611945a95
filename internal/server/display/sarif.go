package display

import (
	"net/url"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// The parts of a SARIF 2.1.0 log that code scanning shows.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver struct {
				Name           string      `json:"name"`
				InformationURI string      `json:"informationUri"`
				Rules          []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifRule struct {
		ID          string    `json:"id"`
		Description sarifText `json:"shortDescription"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// SARIF writes problems as a SARIF log. A rule is the kind of object.
func (r Report) SARIF() ([]byte, error) {
	run := sarifRun{Results: []sarifResult{}}
	driver := &run.Tool.Driver
	driver.Name, driver.InformationURI, driver.Rules = "fairlead", "https://github.com/fairlead-io/fairlead", []sarifRule{}
	index := map[string]int{}
	for _, p := range r.Problems {
		kind, _, _ := strings.Cut(p.Subject, "/")
		if kind == "" {
			kind = "File"
		}
		i, known := index[kind]
		if !known {
			i = len(index)
			index[kind] = i
			driver.Rules = append(driver.Rules, sarifRule{kind, sarifText{"A mistake in a " + kind + " of the control plane"}})
		}
		run.Results = append(run.Results, sarifResult{kind, i, severityWord(p.Problem), sarifText{r.messageText(p)}, sarifLocations(p.Problem, r.FileOf(p.Pos))})
	}
	return EncodeJSON(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifLocations(p problem.Problem, file string) []sarifLocation {
	var l sarifLocation
	if file != "" {
		l.Physical = &sarifPhysical{}
		l.Physical.Artifact.URI = (&url.URL{Path: file}).String()
		if p.Pos.Line > 0 {
			l.Physical.Region = &sarifRegion{p.Pos.Line}
		}
	}
	if p.Subject != "" {
		l.Logical = []sarifLogical{{p.Subject}}
	}
	if l.Physical == nil && l.Logical == nil {
		return nil
	}
	return []sarifLocation{l}
}
