package stacksim

import (
	"maps"
	"os"
	"path/filepath"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

const plansFile = "plans.yaml"

func (c *cluster) writeFolder() error {
	wanted := map[string]string{}
	var plans []any
	for _, t := range sortValues(c.terraforms) {
		content := maps.Clone(t.content)
		content["status"] = c.statusOf(t)
		text, err := yamldoc.Encode(content)
		if err != nil {
			return err
		}
		wanted[t.name+".yaml"] = string(text)
		if t.plan != "" && t.pending != "" {
			plans = append(plans, newPlan(t))
		}
	}
	wanted[plansFile] = ""
	if len(plans) > 0 { // YAML has no empty list of documents
		text, err := yamldoc.Encode(plans...)
		if err != nil {
			return err
		}
		wanted[plansFile] = string(text)
	}
	for name, content := range wanted {
		if before, known := c.written[name]; known && before == content {
			continue
		}
		if err := replaceFile(filepath.Join(c.options.Folder, name), content); err != nil {
			return err
		}
	}
	for name := range c.written {
		if _, kept := wanted[name]; !kept {
			if err := os.Remove(filepath.Join(c.options.Folder, name)); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	c.written = wanted
	return nil
}

func newPlan(t *terraform) any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "tfplan-default-" + t.name, "namespace": t.namespace,
			"labels":      map[string]any{"infra.contrib.fluxcd.io/plan-name": t.name, "infra.contrib.fluxcd.io/plan-workspace": "default"},
			"annotations": map[string]any{"savedPlan": t.pending},
		},
		"data": map[string]any{"tfplan": t.plan},
	}
}

// replaceFile is safe for concurrent readers.
func replaceFile(file, content string) error {
	fresh := file + ".new"
	if err := os.WriteFile(fresh, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, file)
}
