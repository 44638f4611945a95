package provision_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

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

// readState reads the documents of a manifest.
func readState(t *testing.T, text string) provision.State {
	t.Helper()
	var m *model.InputManifest
	var all model.Clusters
	for d := yaml.NewDecoder(bytes.NewReader([]byte(text))); ; {
		var document struct {
			Kind     string
			Metadata struct {
				Name, Namespace string
				Annotations     map[string]string
			}
			Spec yaml.Node
		}
		if d.Decode(&document) != nil {
			break
		}
		object := model.Object{Kind: document.Kind, Name: document.Metadata.Name, Annotations: document.Metadata.Annotations}
		composed := model.Composed{Object: object, Namespace: document.Metadata.Namespace}
		switch document.Kind {
		case claudie.InputManifestKind:
			m = &model.InputManifest{Composed: composed}
			decodeSpec(t, &document.Spec, &m.Spec)
		case claudie.TemplateGitReferenceKind:
			r := &model.TemplateGitReference{Composed: composed}
			decodeSpec(t, &document.Spec, &r.Spec)
			all.Templates = append(all.Templates, r)
		case "ClusterBinding":
			b := &model.ClusterBinding{Composed: composed}
			decodeSpec(t, &document.Spec, &b.Spec)
			all.Bindings = append(all.Bindings, b)
		}
	}
	if m == nil {
		return provision.State{}
	}
	return provision.NewState(m, &all)
}

func decodeSpec(t *testing.T, n *yaml.Node, spec any) {
	t.Helper()
	if err := n.Decode(spec); err != nil {
		t.Fatal(err)
	}
}
