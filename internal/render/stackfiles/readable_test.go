package stackfiles_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

func gzipText(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReadPlans reads ConfigMaps and Secrets as kubectl prints those of tofu-controller.
func TestReadPlans(t *testing.T) {
	configMap := func(name, chunk, id, text string) string {
		annotations := "savedPlan: " + id
		if chunk != "" {
			annotations += `, infra.contrib.fluxcd.io/plan-chunk: "` + chunk + `"`
		}
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tfplan-default-x, namespace: checkout, labels: {infra.contrib.fluxcd.io/plan-name: " + name +
			", infra.contrib.fluxcd.io/plan-workspace: default}, annotations: {" + annotations + "}}\ndata: {tfplan: " + text + "}\n---\n"
	}
	update, err := os.ReadFile("../tfplan/testdata/update.json")
	if err != nil {
		t.Fatal(err)
	}
	read, err := tfplan.Read(update)
	if err != nil {
		t.Fatal(err)
	}
	compressed := gzipText(t, update)
	half := len(compressed) / 2
	secret := func(name, chunk string, data []byte) string {
		return strings.Replace(configMap(name, chunk, "plan-1", base64.StdEncoding.EncodeToString(data)), "kind: ConfigMap", "kind: Secret", 1)
	}
	list := "apiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a, namespace: checkout, labels: {infra.contrib.fluxcd.io/plan-name: db}, annotations: {savedPlan: plan-1}}\n    data: {tfplan: text}\n"
	db := stackfiles.ObjectName{Namespace: "checkout", Name: "db"}
	for _, c := range []struct {
		name, text string
		want       stackfiles.ReadablePlans
		problem    string // "" for none
	}{
		{"one", configMap("db", "", "plan-1", "text"), stackfiles.ReadablePlans{db: {ID: "plan-1", Text: "text"}}, ""},
		{"a list", list, stackfiles.ReadablePlans{db: {ID: "plan-1", Text: "text"}}, ""},
		{"parts in any order", configMap("db", "1", "plan-1", "b") + configMap("db", "0", "plan-1", "a"), stackfiles.ReadablePlans{db: {ID: "plan-1", Text: "ab"}}, ""},
		{"other objects", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n", stackfiles.ReadablePlans{}, ""},
		{"in JSON", secret("db.json", "", compressed), stackfiles.ReadablePlans{db: {ID: "plan-1", Text: read.Text(), Digest: read.Digest}}, ""},
		{"in JSON, in parts", secret("db.json", "1", compressed[half:]) + secret("db.json", "0", compressed[:half]), stackfiles.ReadablePlans{db: {ID: "plan-1", Text: read.Text(), Digest: read.Digest}}, ""},
		{"in JSON, and as text of before", secret("db.json", "", compressed) + configMap("db", "", "plan-0", "text"), stackfiles.ReadablePlans{db: {ID: "plan-1", Text: read.Text(), Digest: read.Digest}}, ""},
		{"for Terraform only", secret("db", "", compressed), stackfiles.ReadablePlans{}, ""},
		{"a part in JSON is missing", secret("db.json", "1", compressed), nil, "the plan of checkout/db lacks its part 0"},
		{"not base64", strings.Replace(secret("db.json", "", compressed), "tfplan: ", "tfplan: _", 1), nil, "the plan of checkout/db: illegal base64"},
		{"not compressed", secret("db.json", "", update), nil, "the plan of checkout/db: gzip: invalid header"},
		{"cut off", secret("db.json", "", compressed[:half]), nil, "the plan of checkout/db: unexpected EOF"},
		{"not a plan", secret("db.json", "", gzipText(t, []byte("{}"))), nil, "the plan of checkout/db: it is not a plan of format 1"},
		{"too large", secret("db.json", "", gzipText(t, make([]byte, 64<<20+1))), nil, "the plan of checkout/db: it has more than 64 MB"},
		{"nothing", "", stackfiles.ReadablePlans{}, ""},
		{"a part is missing", configMap("db", "0", "plan-1", "a") + configMap("db", "2", "plan-1", "c"), nil, "the plan of checkout/db lacks its part 1"},
		{"parts of two plans", configMap("db", "0", "plan-1", "a") + configMap("db", "1", "plan-2", "b"), nil, "the parts of the plan of checkout/db are of two plans, plan-1 and plan-2"},
		{"a part that is there twice", configMap("db", "", "plan-1", "a") + configMap("db", "0", "plan-2", "b"), nil, "the plan of checkout/db has its part 0 twice"},
		{"a part without a number", configMap("db", "x", "plan-1", "a"), nil, "the annotation infra.contrib.fluxcd.io/plan-chunk is no number"},
		{"a part below zero", configMap("db", "-1", "plan-1", "a"), nil, "the annotation infra.contrib.fluxcd.io/plan-chunk is no number"},
		{"data of another type", strings.Replace(configMap("db", "", "plan-1", "text"), "{tfplan: text}", "[1]", 1), nil, "ConfigMap/tfplan-default-x: yaml: unmarshal errors"},
		{"no YAML", "a: [", nil, "did not find expected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := stackfiles.ReadPlans([]byte(c.text))
			if (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Fatalf("the error is %v, want %q", err, c.problem)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
