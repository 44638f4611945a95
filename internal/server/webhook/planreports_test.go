package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// TestSentPlans: only what a cluster sends with its own key is handed on; who has none is not even read.
func TestSentPlans(t *testing.T) {
	b := newFleetBox(t)
	var sent []string
	o := b.options(nil)
	o.ClusterKeys = b.keys.FindKeys
	var refused []string
	o.Refuse = func(cluster string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		refused = append(refused, cluster)
	}
	o.Plan = func(cluster string, r tfplan.Report) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		sent = append(sent, cluster+" "+r.Namespace+"/"+r.Name)
		return cluster == "east-1"
	}
	server := httptest.NewServer(New(o))
	defer server.Close()
	question := readQuestion(t)
	changed := strings.ReplaceAll(question, `"size":"huge"`, `"size":"tiny"`)
	a, other := b.key("east-1", 0), b.key("east-2", 0)
	for _, c := range []struct {
		name, cluster, header, body string
		code                        int
		want                        string // in the answer
		sent                        string // what is handed on
	}{
		{"no key", "east-1", "", question, 401, "the key of the cluster is missing or wrong", ""},
		{"an empty key", "east-1", "Bearer ", question, 401, "the key of the cluster is missing or wrong", ""},
		{"a wrong key", "east-1", "Bearer hunter3", question, 401, "the key of the cluster is missing or wrong", ""},
		{"the key of another cluster", "east-1", "Bearer " + other, question, 401, "the key of the cluster is missing or wrong", ""},
		{"the secret that keys are made of", "east-1", "Bearer " + ledgerSecret, question, 401, "the key of the cluster is missing or wrong", ""},
		{"the secret of all clusters", "east-1", "Bearer " + secret, question, 401, "the key of the cluster is missing or wrong", ""},
		{"no name", "East", "Bearer " + a, question, 401, "the key of the cluster is missing or wrong", ""},
		{"another scheme", "east-1", "Basic " + a, question, 401, "the key of the cluster is missing or wrong", ""},
		{"its own, approved", "east-1", "Bearer " + a, question, 200, `"kept": true`, "east-1 zmart-checkout-dev/checkout-dev-server"},
		{"its own, changed", "east-1", "Bearer " + a, changed, 200, tfplan.Differs, "east-1 zmart-checkout-dev/checkout-dev-server"},
		{"of what is not known", "east-2", "Bearer " + other, question, 200, `"kept": false`, "east-2 zmart-checkout-dev/checkout-dev-server"},
		{"no plan", "east-1", "Bearer " + a, "{}", 400, "it is not a Terraform object of tofu-controller", ""},
		{"a plan that cannot be read", "east-1", "Bearer " + a, strings.Replace(question, `"format_version":"1.2"`, `"format_version":"9"`, 1), 400, "the plan cannot be read", ""},
		{"too large", "east-1", "Bearer " + a, `"` + strings.Repeat("x", maxQuestionSize) + `"`, 413, "the plan is too large", ""},
	} {
		before := len(sent)
		code, text := sendPlan(t, server.URL+"/webhooks/plans/"+c.cluster, c.header, c.body)
		b.mu.Lock()
		if code != c.code || !strings.Contains(text, c.want) || strings.Join(sent[before:], ", ") != c.sent {
			t.Errorf("%s: %d %s, handed on: %q", c.name, code, text, sent[before:])
		}
		b.mu.Unlock()
		if (code != http.StatusOK) != (json.Unmarshal([]byte(text), &tfplan.Answer{}) != nil || !strings.Contains(text, `"kept"`)) {
			t.Errorf("%s: the answer is %s", c.name, text)
		}
	}
	if len(refused) != 8 || !slices.Contains(b.counted, planSender+"/unauthorized") || !slices.Contains(b.counted, planSender+"/refused") || len(b.events) > 0 {
		t.Errorf("refused: %q, counted: %q, the loop was woken %d times", refused, b.counted, len(b.events))
	}
	b.renew("east-1", ledger.Epoch{Number: 1, Renewed: noon.Add(-ledger.KeyOverlap)})
	if code, text := sendPlan(t, server.URL+"/webhooks/plans/east-1", "Bearer "+a, question); code != 401 {
		t.Errorf("a key that was renewed: %d %s", code, text)
	}
}

// TestSentPlansOff: without keys of clusters, or without anything that takes plans, the address is not there.
func TestSentPlansOff(t *testing.T) {
	b := newFleetBox(t)
	plans := b.options(nil)
	plans.Plan = func(string, tfplan.Report) bool { t.Error("a plan is taken without a key"); return true }
	keys := b.options(nil)
	keys.ClusterKeys = b.keys.FindKeys
	for name, o := range map[string]Options{"no keys": plans, "nobody takes plans": keys} {
		server := httptest.NewServer(New(o))
		code, text := sendPlan(t, server.URL+"/webhooks/plans/east-1", "Bearer "+b.key("east-1", 0), readQuestion(t))
		server.Close()
		if code != 404 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
}

// sendPlan sends a plan as a job on a cluster does, and returns the answer.
func sendPlan(t *testing.T, address, authorization, body string) (code int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}
