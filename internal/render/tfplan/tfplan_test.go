package tfplan_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// readTestdata returns a file that Terraform, or tofu-controller, has written.
func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readPlan(t testing.TB, text []byte) *tfplan.Plan {
	t.Helper()
	p, err := tfplan.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if !model.IsPlanDigest(p.Digest) {
		t.Errorf("the digest is %q", p.Digest)
	}
	return p
}

// edit returns a plan with a part of it replaced.
func edit(t testing.TB, text []byte, from, to string) []byte {
	t.Helper()
	if !bytes.Contains(text, []byte(from)) {
		t.Fatalf("the plan does not contain %s", from)
	}
	return bytes.Replace(text, []byte(from), []byte(to), 1)
}

// TestDigest: plans that do the same have one digest, and others another one.
func TestDigest(t *testing.T) {
	update := readTestdata(t, "update")
	want := readPlan(t, update).Digest
	var payload struct {
		Status struct {
			Plan json.RawMessage `json:"tfplan"`
		} `json:"status"`
	}
	if err := json.Unmarshal(readTestdata(t, "payload"), &payload); err != nil {
		t.Fatal(err)
	}
	indented := &bytes.Buffer{}
	if err := json.Indent(indented, update, "", "  "); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		text []byte
		same bool
	}{
		{"as tofu-controller sends it", payload.Status.Plan, true},
		{"as Terraform prints it", readTestdata(t, "update-terraform"), true},
		{"indented", indented.Bytes(), true},
		{"made later", edit(t, update, `"timestamp":"`, `"timestamp":"1`), true},
		{"made by another version", edit(t, update, `"terraform_version":"1.11.4"`, `"terraform_version":"1.12.0"`), true},
		{"a value of what stays", edit(t, update, `"input":"same"`, `"input":"other"`), true},
		{"a secret", bytes.ReplaceAll(update, []byte("hunter3"), []byte("hunter4")), true},
		{"a value", bytes.ReplaceAll(update, []byte(`"size":"huge"`), []byte(`"size":"small"`)), false},
		{"an action", edit(t, update, `"actions":["delete"]`, `"actions":["forget"]`), false},
		{"an address", edit(t, update, `"address":"module.server.terraform_data.old[0]"`, `"address":"module.server.terraform_data.old[1]"`), false},
		{"what stays is moved", edit(t, update, `"address":"module.server.terraform_data.kept","module_address"`, `"address":"module.server.terraform_data.kept","previous_address":"x","module_address"`), false},
		{"the code", edit(t, update, `"configuration":{`, `"configuration":{"more":1,`), false},
		{"an unknown part", edit(t, update, `{"format_version"`, `{"action_invocations":[{"type":"x"}],"format_version"`), false},
		{"no unknown part", edit(t, update, `{"format_version"`, `{"action_invocations":[],"format_version"`), true},
		{"no part", edit(t, update, `{"format_version"`, `{"deferred_changes":null,"format_version"`), true},
		{"another plan", readTestdata(t, "create"), false},
	} {
		if got := readPlan(t, c.text).Digest; (got == want) != c.same {
			t.Errorf("%s: %s, and the first is %s", c.name, got, want)
		}
	}
}

// TestReadMistakes: what is not a plan has no digest.
func TestReadMistakes(t *testing.T) {
	update := string(readTestdata(t, "update"))
	for name, text := range map[string]string{
		"nothing":        "",
		"no JSON":        "Terraform will perform the following actions:",
		"cut off":        update[:len(update)/2],
		"list":           "[]",
		"no version":     `{"resource_changes":[]}`,
		"other version":  `{"format_version":"2.0"}`,
		"version":        `{"format_version":1}`,
		"changes":        `{"format_version":"1.2","resource_changes":{}}`,
		"change":         `{"format_version":"1.2","resource_changes":[1]}`,
		"no actions":     `{"format_version":"1.2","resource_changes":[{"address":"a","change":{"actions":[]}}]}`,
		"actions":        `{"format_version":"1.2","resource_changes":[{"address":"a","change":{"actions":[1]}}]}`,
		"no address":     `{"format_version":"1.2","resource_changes":[{"change":{"actions":["create"]}}]}`,
		"outputs":        `{"format_version":"1.2","output_changes":[1]}`,
		"output":         `{"format_version":"1.2","output_changes":{"a":null}}`,
		"too many":       `{"format_version":"1.2","x":[` + strings.Repeat("0,", 500_000) + `0]}`,
		"too many parts": `{"format_version":"1.2","x":[` + strings.Repeat("0,", 300_000) + `0],"y":{` + strings.Repeat(`"a":0,`, 100_000) + `"a":0}}`,
		"nested too far": `{"format_version":"1.2","configuration":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		if p, err := tfplan.Read([]byte(text)); err == nil {
			t.Errorf("%s: it is read as %+v", name, p)
		}
	}
}

// TestText: people read what each plan does, and nothing that is sensitive.
func TestText(t *testing.T) {
	for name, want := range map[string]tfplan.Counts{
		"create": {Add: 4}, "update": {Change: 2, Destroy: 1}, "destroy": {Destroy: 4}, "none": {}, "replace": {Add: 1, Destroy: 1},
	} {
		p := readPlan(t, readTestdata(t, name))
		if got := p.Count(); got.Short() != want.Short() {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if nothing := p.ChangesNothing(); nothing != (name == "none") {
			t.Errorf("%s: changes nothing: %v", name, nothing)
		}
	}
	const want = `  # module.server.terraform_data.login will be updated in-place
  ~ input: (sensitive value) -> (sensitive value)
  ~ output: {"password":"hunter2","user":"app"} -> (known after apply)

  # module.server.terraform_data.machine will be updated in-place
  ~ input.ratio: 1.5 -> 1.75
  ~ input.size: "large" -> "huge"
  ~ output: {"count":3,"note":"yes <a&b> \"q\" 0x1F","ratio":1.5,"size":"large"} -> (known after apply)

  # module.server.terraform_data.old[0] will be destroyed
  - id: "9c1c649a-201a-72ba-bd8a-080fdccbffa1"
  - input: "before"
  - output: "before"
  - triggers_replace: ["v1"]

Plan: 0 to add, 2 to change, 1 to destroy.
`
	if got := readPlan(t, readTestdata(t, "update")).Text(); got != want {
		t.Errorf("the text is\n%s", got)
	}
	for name, want := range map[string]string{"none": "No changes.", "replace": "terraform_data.old[0] must be replaced", "create": "+ output: (known after apply)"} {
		if got := readPlan(t, readTestdata(t, name)).Text(); !strings.Contains(got, want) {
			t.Errorf("%s: the text is\n%s", name, got)
		}
	}
	errored := readPlan(t, []byte(`{"format_version":"1.2","errored":true,"action_invocations":[1],"output_changes":{"a":{"actions":["create"],"after":1}}}`))
	if got := errored.Text(); !strings.Contains(got, "+ a: 1") || !strings.Contains(got, "Planning ended with an error") || !strings.Contains(got, "parts that Fairlead does not know") {
		t.Errorf("the text is\n%s", got)
	}
}

// TestAnswerQuestion: a plan is applied if it is the one that was approved, or does nothing, and in no other case.
func TestAnswerQuestion(t *testing.T) {
	payload := string(readTestdata(t, "payload"))
	digest := readPlan(t, readTestdata(t, "update")).Digest
	approved := strings.Replace(payload, "DIGEST", digest, 1)
	replace := func(from, to string) string { return string(edit(t, []byte(approved), from, to)) }
	var object map[string]any
	if err := json.Unmarshal([]byte(approved), &object); err != nil {
		t.Fatal(err)
	}
	with := func(plan string) string {
		object["status"] = map[string]any{"tfplan": json.RawMessage(readTestdata(t, plan))}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const plan = `"approvePlan":"plan-fairlead-modules-dev-67a2b4fa38"`
	deleted := func(text string) string {
		text = strings.Replace(text, `"approvePlan":`, `"destroyResourcesOnDeletion":true,"approvePlan":`, 1)
		return strings.Replace(text, `"creationTimestamp"`, `"deletionTimestamp":"2026-11-20T09:12:44Z","creationTimestamp"`, 1)
	}
	for _, c := range []struct {
		name, text string
		passed     bool
		reason     string // how it begins; "" if it is no question
	}{
		{"approved", approved, true, "the plan is the approved one"},
		{"another digest", payload, false, tfplan.Differs + ": it is " + digest + ", and DIGEST was approved"},
		{"another plan", with("create"), false, tfplan.Differs},
		{"a destruction", with("destroy"), false, tfplan.Differs},
		{"nothing to do", with("none"), true, "the plan changes nothing"},
		{"no digest", replace(`"fairlead.io/plan-digest"`, `"fairlead.io/other"`), false, "the approval names no digest"},
		{"not approved", replace(plan, `"approvePlan":""`), true, "the plan is not applied"},
		{"drift only", replace(plan, `"approvePlan":"disable"`), true, "the plan is not applied"},
		{"plan only", replace(plan, plan+`,"planOnly":true`), true, "the plan is not applied"},
		{"auto", replace(plan, `"approvePlan":"auto"`), false, "the object is not as Fairlead has rendered it"},
		{"auto, which does not ask", string(edit(t, []byte(replace(plan, `"approvePlan":"auto"`)), `"webhooks":`, `"others":`)), true, "the plans of the object are applied without approval"},
		{"forced", replace(plan, `"approvePlan":"","force":true`), false, "the object is not as Fairlead has rendered it"},
		{"forced and plan only", replace(plan, `"planOnly":true,"force":true`), false, "the object is not as Fairlead has rendered it"},
		{"deleted", deleted(replace(plan, `"approvePlan":""`)), false, "the object is deleted, and nobody has approved"},
		{"deleted, drift only", deleted(replace(plan, `"approvePlan":"disable"`)), false, "the object is deleted, and nobody has approved"},
		{"deleted, without a digest", deleted(replace(`"fairlead.io/plan-digest"`, `"fairlead.io/other"`)), false, "the object is deleted, and nobody has approved"},
		{"deleted, with another plan", deleted(with("destroy")), false, tfplan.Differs},
		{"deleted, as approved", deleted(approved), true, "the plan is the approved one"},
		{"deleted, nothing to do", deleted(with("none")), true, "the plan changes nothing"},
		{"deleted, auto", deleted(replace(plan, `"approvePlan":"auto"`)), false, "the object is not as Fairlead has rendered it"},
		{"no readable plan", replace(`"format_version":"1.2"`, `"format_version":"9"`), false, "the plan cannot be read"},
		{"errored", replace(`"format_version":"1.2"`, `"format_version":"1.2","errored":true`), false, "planning ended with an error"},
		{"spec only", string(edit(t, []byte(approved), `"tfplan"`, `"other"`)), false, ""},
		{"plan only payload", string(readTestdata(t, "update")), false, ""},
		{"another kind", replace(`"kind":"Terraform"`, `"kind":"Secret"`), false, ""},
		{"another group", replace("infra.contrib.fluxcd.io/v1alpha2", "example.com/v1"), false, ""},
		{"no JSON", "plan", false, ""},
		{"nothing", "", false, ""},
	} {
		answer, err := tfplan.AnswerQuestion([]byte(c.text))
		if (err != nil) != (c.reason == "") || answer.Passed != c.passed || !strings.HasPrefix(answer.Reason, c.reason) {
			t.Errorf("%s: %+v, %v", c.name, answer, err)
		}
	}
}

// FuzzAnswerQuestion: no payload ends the daemon, and none passes that is neither approved nor without effect.
func FuzzAnswerQuestion(f *testing.F) {
	f.Add(readTestdata(f, "payload"))
	f.Add([]byte(`{"apiVersion":"infra.contrib.fluxcd.io/v1","kind":"Terraform","spec":{"approvePlan":"x"},"status":{"tfplan":{"format_version":"1.0","resource_changes":[{"address":"a","change":{"actions":["no-op"],"before":{"a":[1]},"before_sensitive":{"a":[true,true]}}}]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		answer, err := tfplan.AnswerQuestion(text)
		if answer.Passed && err != nil || answer.Reason == "" && err == nil {
			t.Errorf("%+v, %v", answer, err)
		}
	})
}

// TestLongTexts: texts are no values, whatever is in them.
func TestLongTexts(t *testing.T) {
	text := strings.Repeat(`[{,:\"\\`, 200_000)
	p := readPlan(t, []byte(`{"format_version":"1.2","resource_changes":[{"address":"a","change":{"actions":["create"],"after":{"user_data":"`+text+`"}}}]}`))
	if len(p.Changes) != 1 {
		t.Errorf("%+v", p.Count())
	}
}
