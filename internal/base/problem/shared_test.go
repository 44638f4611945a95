package problem_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// TestSharing: a problem that several environments have is one, with all of them.
func TestSharing(t *testing.T) {
	warning := problem.Problem{Pos: problem.Pos{Layer: "base", File: "a.yaml"}, Summary: "it selects nothing", Warning: true}
	mistake := problem.Problem{Pos: problem.Pos{Layer: "base", File: "b.yaml"}, Summary: "it is no YAML"}
	own := problem.Problem{Pos: problem.Pos{Layer: "prod", File: "b.yaml"}, Summary: "it is no YAML"}
	var s problem.Sharing
	s.Add("dev", problem.List{warning, mistake, mistake})
	s.Add("prod", problem.List{own, mistake})
	want := []problem.Shared{
		{Problem: mistake, Environments: []string{"dev", "prod"}},
		{Problem: own, Environments: []string{"prod"}},
		{Problem: warning, Environments: []string{"dev"}},
	}
	if diff := cmp.Diff(want, s.Sorted()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
