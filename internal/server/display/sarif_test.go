package display

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// TestSARIF holds a log to the rules of SARIF 2.1.0 that code scanning insists on.
// What it looks like as a whole is in internal/cli/testdata/script/check-ci.txtar.
func TestSARIF(t *testing.T) {
	pos := func(file string, line int) problem.Pos { return problem.Pos{Layer: "base", File: file, Line: line} }
	r := Report{FileOf: func(p problem.Pos) string { return p.File }, Problems: []EnvironmentProblem{
		{Problem: problem.Problem{Pos: pos("a b/ü%.yaml", 3), Subject: "ClusterType/large", Summary: "it is broken", Hint: "mend it"}},
		{Problem: problem.Problem{Pos: pos("a:b.yaml", 0), Summary: "it is not YAML"}},
		{Problem: problem.Problem{Subject: "WorkloadRegistration/shop", Summary: "it is not there", Warning: true}},
		{Problem: problem.Problem{Summary: "nowhere in particular"}},
		{Problem: problem.Problem{Pos: pos("c.yaml", 1), Subject: "ClusterType/small", Summary: "it is broken too"}},
	}}
	data, err := r.SARIF()
	var log sarifLog
	if err := errors.Join(err, json.Unmarshal(data, &log)); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || log.Schema == "" || len(log.Runs) != 1 {
		t.Fatalf("version %q, schema %q, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	driver, results := log.Runs[0].Tool.Driver, log.Runs[0].Results
	if driver.Name == "" || len(results) != len(r.Problems) {
		t.Fatalf("driver %q, %d results", driver.Name, len(results))
	}
	var ids []string
	for _, rule := range driver.Rules {
		if rule.ID == "" || rule.Description.Text == "" || slices.Contains(ids, rule.ID) {
			t.Errorf("rule %+v is not one, or is there twice", rule)
		}
		ids = append(ids, rule.ID)
	}
	for i, result := range results {
		if result.RuleIndex >= len(ids) || ids[result.RuleIndex] != result.RuleID {
			t.Errorf("result %d: rule %d is not %q", i, result.RuleIndex, result.RuleID)
		}
		if want := map[bool]string{false: "error", true: "warning"}[r.Problems[i].Warning]; result.Level != want {
			t.Errorf("result %d: level %q, not %q", i, result.Level, want)
		}
		if result.Message.Text == "" {
			t.Errorf("result %d has no message", i)
		}
		for _, l := range result.Locations {
			checkLocation(t, l, r.Problems[i].Pos)
		}
		if located := len(result.Locations) > 0; located != (r.Problems[i].Pos.File != "" || r.Problems[i].Subject != "") {
			t.Errorf("result %d: locations %+v", i, result.Locations)
		}
	}
}

// checkLocation sees that the address is relative, and leads back to the file.
func checkLocation(t *testing.T, l sarifLocation, pos problem.Pos) {
	t.Helper()
	if l.Physical == nil {
		if pos.File != "" {
			t.Errorf("%v has no place", pos)
		}
		return
	}
	address, err := url.Parse(l.Physical.Artifact.URI)
	if err != nil || address.IsAbs() || address.JoinPath().Path != pos.File {
		t.Errorf("%v: address %q (%v)", pos, l.Physical.Artifact.URI, err)
	}
	if line := l.Physical.Region; (line == nil) != (pos.Line == 0) || line != nil && line.StartLine != pos.Line {
		t.Errorf("%v: region %+v", pos, line)
	}
}
