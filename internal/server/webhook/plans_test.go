package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// readQuestion returns what tofu-controller sends of an approved plan, with the digest that was approved.
func readQuestion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../render/tfplan/testdata/payload.json")
	if err != nil {
		t.Fatal(err)
	}
	var q struct {
		Status struct {
			Plan json.RawMessage `json:"tfplan"`
		} `json:"status"`
	}
	if err := json.Unmarshal(text, &q); err != nil {
		t.Fatal(err)
	}
	plan, err := tfplan.Read(q.Status.Plan)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), "DIGEST", plan.Digest, 1)
}

// askPlan sends a body as tofu-controller does, and returns the answer as its template reads it.
func askPlan(t *testing.T, address string, body io.Reader) (code int, answer map[string]any) {
	t.Helper()
	response, err := http.Post(address, "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer
}

// TestPlanQuestions: tofu-controller is told yes about the approved plan, and no about everything else.
func TestPlanQuestions(t *testing.T) {
	var mu sync.Mutex
	counts := map[string]int{}
	server := httptest.NewServer(NewPlanReviewer(func(sender, outcome string) {
		mu.Lock()
		defer mu.Unlock()
		counts[sender+" "+outcome]++
	}))
	defer server.Close()
	question := readQuestion(t)
	for _, c := range []struct {
		name   string
		body   io.Reader
		code   int
		passed bool
		reason string // how it begins
	}{
		{"approved", strings.NewReader(question), 200, true, "the plan is the approved one"},
		{"changed", strings.NewReader(strings.ReplaceAll(question, `"size":"huge"`, `"size":"tiny"`)), 200, false, tfplan.Differs},
		{"cut off", strings.NewReader(question[:len(question)-10]), 400, false, questionMalformed},
		{"nothing", strings.NewReader(""), 400, false, questionMalformed},
		{"deep", strings.NewReader(strings.Repeat("[", 1<<20)), 400, false, questionMalformed},
		{"too large", strings.NewReader(`"` + strings.Repeat("x", maxQuestionSize) + `"`), 413, false, questionTooLarge.Reason},
		{"too large without a length", io.MultiReader(strings.NewReader(`"`), strings.NewReader(strings.Repeat("x", maxQuestionSize+1))), 413, false, questionTooLarge.Reason},
	} {
		code, answer := askPlan(t, server.URL, c.body)
		reason, _ := answer["reason"].(string)
		if code != c.code || answer["passed"] != c.passed || !strings.HasPrefix(reason, c.reason) {
			t.Errorf("%s: %d %v", c.name, code, answer)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for outcome, want := range map[string]int{"passed": 1, "refused": 1, "malformed": 3, "too-large": 2} {
		if got := counts[planSender+" "+outcome]; got != want {
			t.Errorf("%s: %d, want %d", outcome, got, want)
		}
	}
}

// TestPlanQuestionsAtOnce: many clusters may ask at once, and each gets the answer to its question.
func TestPlanQuestionsAtOnce(t *testing.T) {
	server := httptest.NewServer(NewPlanReviewer(nil))
	defer server.Close()
	question := readQuestion(t)
	changed := strings.ReplaceAll(question, `"size":"huge"`, `"size":"tiny"`)
	var all sync.WaitGroup
	for i := range 16 {
		body, want := question, true
		if i%2 == 1 {
			body, want = changed, false
		}
		all.Go(func() {
			response, err := http.Post(server.URL, "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			var answer tfplan.Answer
			if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Passed != want {
				t.Errorf("%+v, %v; want %v", answer, err, want)
			}
		})
	}
	all.Wait()
}
