package provision_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestDowngradeIsNamed: what must not be done is not called an upgrade where it is shown beside the reason.
func TestDowngradeIsNamed(t *testing.T) {
	for versions, want := range map[[2]string]string{{"1.35.0", "1.36.0"}: "upgrade Kubernetes", {"1.36.0", "v1.35.9"}: "downgrade Kubernetes", {"", "1.36.0"}: "upgrade Kubernetes"} {
		s := provision.Step{Kind: provision.UpgradeKubernetes, Executor: "claudie", Reason: []provision.Change{{Field: "version", Old: versions[0], New: versions[1]}}}
		if got := s.Sentence(); got != want {
			t.Errorf("%v: it says %q, want %q", versions, got, want)
		}
	}
}

// TestPlan: the steps from each manifest of an archive to the next one. The first one is there already.
func TestPlan(t *testing.T) {
	golden.Run(t, "testdata/plan/*.txtar", func(t *testing.T, c *golden.Case) {
		current := readState(t, c.Text("1.yaml"))
		for i := 2; c.Text(fmt.Sprintf("%d.yaml", i)) != ""; i++ {
			desired := readState(t, c.Text(fmt.Sprintf("%d.yaml", i)))
			plan, err := provision.NewPlan(&current, &desired)
			if err != nil {
				t.Fatal(err)
			}
			c.Want(t, fmt.Sprintf("plan-%d", i), describePlan(plan))
			desired.Endpoints = plan.Endpoints
			current = desired
		}
	})
}

// describePlan returns a plan with the dependencies of its steps by their numbers.
func describePlan(p provision.Plan) string {
	if len(p.Steps) == 0 {
		return "nothing to do\n"
	}
	number := map[string]int{}
	for i, s := range p.Steps {
		number[s.ID] = i + 1
	}
	lines := strings.SplitAfter(p.Text(), "\n")
	i := 0
	for n, line := range lines {
		if !strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "   ") {
			continue
		}
		if after := p.Steps[i].After; len(after) > 0 {
			var numbers []string
			for _, id := range after {
				numbers = append(numbers, fmt.Sprint(number[id]))
			}
			lines[n] = strings.TrimSuffix(line, "\n") + " after " + strings.Join(numbers, ", ") + "\n"
		}
		i++
	}
	return strings.Join(lines, "")
}

// readModel reads the model of an environment that has one file.
func readModel(t *testing.T, text string) *model.Model {
	t.Helper()
	return readLayers(t, "", text)
}

// readLayers reads the model of a base and an environment that have one file each.
func readLayers(t *testing.T, base, env string) *model.Model {
	t.Helper()
	layers := []model.Layer{{Kind: model.Base, Name: "main"}, {Kind: model.Env, Name: "dev"}}
	for i, text := range []string{base, env} {
		files, err := tree.FromFiles(map[string][]byte{"clusters.yaml": []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		layers[i].Files = files
	}
	m, problems := model.NewParser().Parse("dev", layers...)
	for _, p := range problems {
		if p.Pos.File != "" {
			t.Fatal(p)
		}
	}
	return m
}

// readState reads the documents of one manifest; "" is one that is not there.
func readState(t *testing.T, text string) provision.State {
	t.Helper()
	for _, s := range provision.NewStates(readModel(t, text)) {
		return s
	}
	return provision.State{}
}
