package tfplan_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// newPayload returns what tofu-controller sends to a webhook about a plan. It does what
// controllers/tf_controller_webhooks.go of version 0.16 does, with the same library: the object and the plan
// become YAML, and JSON again.
func newPayload(object, plan string) ([]byte, error) {
	planNode, err := yaml.ConvertJSONToYamlNode(plan)
	if err != nil {
		return nil, err
	}
	node, err := yaml.ConvertJSONToYamlNode(object)
	if err != nil {
		return nil, err
	}
	node, err = node.Pipe(
		yaml.Tee(yaml.Clear("status")),
		yaml.Tee(yaml.LookupCreate(yaml.MappingNode, "status"), yaml.SetField("tfplan", planNode)),
	)
	if err != nil {
		return nil, err
	}
	return node.MarshalJSON()
}

// TestPayloadValues: whatever values a plan has, the one that tofu-controller sends has the digest of the one
// that it keeps in Secrets, by which people approve it.
func TestPayloadValues(t *testing.T) {
	const object = `{"apiVersion":"infra.contrib.fluxcd.io/v1alpha2","kind":"Terraform","metadata":{"name":"a","annotations":{"fairlead.io/plan-digest":"DIGEST"}},"spec":{"approvePlan":"plan-x-1"},"status":{"plan":{"pending":"x"}}}`
	values := []string{
		`0`, `1`, `-1`, `1.5`, `0.1`, `1e-7`, `1e3`, `1000000`, `123456789012`, `9007199254740993`, `12345678901234567890`, `1e300`, `true`, `null`, `[]`, `{}`, `[null]`,
		`{"yes":1,"1":2,"1.5":3,"null":4,"":5,"2026-01-02":6,"a\nb":7,"$patch":"delete"}`, `{"` + strings.Repeat("k", 1200) + `":1}`, `"` + strings.Repeat("many words ", 100) + `"`,
	}
	for _, text := range []string{
		"", " ", "yes", "no", "on", "y", "null", "~", "True", "0x1F", "0o17", "017", "1_000", "1e3", ".inf", "2026-01-02", "2026-01-02T03:04:05Z", "12:30:45", "<<", "=", "- a", "a: b", "# c", "a #b",
		"!tag", "&a", "*a", "{}", "|", ">", "%", "@", "`", "'", "---", "...", `a\n`, `a\n\n`, `\n`, `a\nb`, `a \nb`, `a\n\tb`, `a\r\nb`, `a\rb`, `a\n---\nb`, `\u0000`, `\u0007`, `\u0085`, `\u2028`, `\ufeff`, `\ud800`, "😀",
	} {
		values = append(values, `"`+text+`"`)
	}
	for _, value := range values {
		inner := `{"v":` + value + `,"w":{"x":[` + value + `]}}`
		plan := `{"format_version":"1.2","resource_changes":[{"address":"a.b","change":{"actions":["create"],"before":null,"after":` + inner + `}}],"configuration":{"root_module":` + inner + `}}`
		payload, err := newPayload(strings.Replace(object, "DIGEST", readPlan(t, []byte(plan)).Digest, 1), plan)
		if err != nil {
			t.Errorf("%.60s: tofu-controller cannot send it: %v", value, err)
			continue
		}
		answer, err := tfplan.AnswerQuestion(payload)
		if err != nil || !answer.Passed {
			t.Errorf("%.60s: %+v, %v", value, answer, err)
		}
	}
}
