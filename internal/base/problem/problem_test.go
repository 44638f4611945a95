package problem_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

func TestString(t *testing.T) {
	for _, c := range []struct {
		p    problem.Problem
		want string
	}{
		{problem.Problem{Pos: problem.Pos{Layer: "base", File: "a/b.yaml", Line: 3}, Subject: "Template/x", Summary: "it is wrong"}, "base/a/b.yaml:3: Template/x: it is wrong"},
		{problem.Problem{Pos: problem.Pos{Layer: "dev"}, Summary: "it is empty"}, "dev: it is empty"},
		{problem.Problem{Pos: problem.Pos{File: "a.yaml"}, Summary: "it is wrong", Hint: "mend it"}, "a.yaml: it is wrong"},
		{problem.Problem{Pos: problem.Pos{Line: 3}, Summary: "it is nowhere"}, "it is nowhere"},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.p, got, c.want)
		}
	}
}

// TestSorted shuffles problems: they come out in one order, each once, and one that
// is also a warning is not.
func TestSorted(t *testing.T) {
	at := func(layer, file string, line int) problem.Pos {
		return problem.Pos{Layer: layer, File: file, Line: line}
	}
	want := problem.List{
		{Pos: at("base", "a.yaml", 2), Summary: "first"},
		{Pos: at("base", "a.yaml", 10), Subject: "A/a", Summary: "second"},
		{Pos: at("base", "b.yaml", 1), Summary: "third"},
		{Pos: at("dev", "a.yaml", 1), Summary: "fourth"},
		{Pos: at("base", "a.yaml", 1), Subject: "B/a", Summary: "fifth", Warning: true},
	}
	warning := want[1]
	warning.Warning = true
	list := append(append(problem.List{warning}, want...), want[4])
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if diff := cmp.Diff(want, list.Sorted()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	if problems, warnings := want.Count(); problems != 4 || warnings != 1 {
		t.Errorf("%d problems and %d warnings, want 4 and 1", problems, warnings)
	}
	if !want.Stops() || want[4:].Stops() || (problem.List)(nil).Stops() {
		t.Error("problems stop, warnings and nothing do not")
	}
}

func TestDidYouMean(t *testing.T) {
	fields := []string{"reconciler", "namespaceService", "configType", "gitlab", "gitea", "dev"}
	for _, c := range []struct{ name, want string }{
		{"reconcilier", `did you mean "reconciler"?`},
		{"configtype", `did you mean "configType"?`},
		{"namespaceservise", `did you mean "namespaceService"?`},
		{"gitae", `did you mean "gitea"?`}, // neighbours that are swapped are one mistake
		{"dve", `did you mean "dev"?`},
		{"colour", ""},
		{"", ""},
		{"reconciler", ""}, // that is the name
	} {
		if got := problem.DidYouMean(c.name, fields); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
}
