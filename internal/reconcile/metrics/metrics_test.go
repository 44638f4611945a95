package metrics

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// busy is metrics in which everything was counted.
func busy() *Metrics {
	m := New("1.2.3")
	use(m)
	return m
}

// waitingStage is a stage that waits for a freeze, for people, and for the environment before it.
func waitingStage(environment string) status.Stage {
	return status.Stage{Environment: environment, Commit: "c0ffee", Next: promote.Decision{Verdict: gate.Verdict{Parts: []gate.Verdict{
		{Gate: "after test", Status: gate.Wait}, {Gate: "queue", Status: gate.Pass},
		{Gate: "gates", Status: gate.Wait, Parts: []gate.Verdict{{Gate: "freeze", Status: gate.Wait}, {Gate: "smoke", Status: gate.Fail}, {Gate: "window", Status: gate.Pass}}},
	}}}}
}

func use(m *Metrics) {
	m.RecordCycle(time.Unix(60, 0), time.Second, true)
	m.RecordCycle(time.Unix(1500, 0), time.Second, false)
	m.SetUnfinishedSince("dev", time.Unix(1200, 5e8))
	m.SetUnfinishedSince("prod", time.Unix(1200, 0))
	m.SetUnfinishedSince("prod", time.Time{})
	m.SetQueueLength(2)
	m.SetWrittenHere("dev", true)
	m.RecordReplica(shares.Standing{Members: []string{"a", "b"}, Mine: []shares.Share{0, 1}, Taken: 3})
	m.RecordEnvironment(status.Environment{Name: "dev", State: status.Failed, Took: time.Second})
	m.RecordEnvironment(status.Environment{
		Name: "dev", State: status.InSync, Took: time.Second, Problems: problem.List{{}, {}, {Warning: true}}, Assignments: 12,
	})
	m.SetTokenExpiries([]status.Credential{{URL: "https://old.example", Expires: time.Unix(60, 0)}})
	m.SetTokenExpiries([]status.Credential{
		{URL: "https://api.github.com/acme", Expires: time.Unix(9000, 0)}, {URL: "https://api.github.com/other", Expires: time.Unix(6000, 0)},
		{URL: "https://api.github.com/third"}, {URL: "https://unknown.example"},
	})
	m.RecordPromotion("dev")
	m.SetStage(waitingStage("dev"), time.Unix(900, 0))
	m.SetStage(status.Stage{Environment: "dev", Commit: "c0ffee", Behind: 2, Hold: "the load test", Lanes: []status.Lane{{Name: "a", Commit: "c1"}, {Name: "b", Reason: "failed"}, {Name: "c", Reason: "held: x", Hold: "x"}}, Proof: gate.Verdict{Status: gate.Pass}}, time.Unix(900, 0))
	m.SetStage(waitingStage("prod"), time.Time{})
	m.RecordLeadTime("dev", 2*time.Hour)
	m.RecordLeadTime("dev", -time.Hour) // a clock that is ahead
	m.RecordVerification(false)
	m.RecordGitCall("fetch", "git.example.com", time.Second, false)
	m.RecordGitCall("fetch", "https://user:secret@git.example.com:8443/org/repo.git", time.Second, true)
	m.RecordGitCall("gossip", "/srv/git/repo.git", time.Second, false)
	m.RecordForgeCall("api.github.com", "list-pulls", time.Second, false)
	m.SetRateLimitRemaining("api.github.com", 4999)
	m.SetRemoteFailing("git.example.com", true)
	useFleet(m)
	m.RecordWebhook("github", "woken")
	m.RecordWebhook("https://user:secret@git.example.com", "org/repo")
}

func TestLint(t *testing.T) {
	var ours strings.Builder
	for line := range strings.Lines(scrape(busy()).Body.String()) {
		if strings.Contains(line, "fairlead_") { // its samples, and its # HELP and # TYPE
			ours.WriteString(line)
		}
	}
	if n := strings.Count(ours.String(), "# TYPE"); n != 42 {
		t.Errorf("%d metrics of ours, want 42", n)
	}
	found, err := promlint.New(strings.NewReader(ours.String())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestFigures compares all that is ours, of histograms only how much they count. TestFleet counts the
// clusters.
func TestFigures(t *testing.T) {
	const want = `fairlead_assignments{environment="dev"} 12
fairlead_build_info{version="1.2.3"} 1
fairlead_cycle_duration_seconds_count 2
fairlead_cycle_ended_timestamp_seconds 1500
fairlead_cycles_total{outcome="failed"} 1
fairlead_cycles_total{outcome="ok"} 1
fairlead_environment_duration_seconds_count{environment="dev"} 2
fairlead_environment_state{environment="dev",state="declined"} 0
fairlead_environment_state{environment="dev",state="dry-run"} 0
fairlead_environment_state{environment="dev",state="edited"} 0
fairlead_environment_state{environment="dev",state="failed"} 0
fairlead_environment_state{environment="dev",state="foreign"} 0
fairlead_environment_state{environment="dev",state="in-sync"} 1
fairlead_environment_state{environment="dev",state="problems"} 0
fairlead_environment_state{environment="dev",state="proposed"} 0
fairlead_environment_state{environment="dev",state="waiting"} 0
fairlead_environment_unfinished_since_timestamp_seconds{environment="dev"} 1200.5
fairlead_environment_unfinished_since_timestamp_seconds{environment="prod"} 0
fairlead_environment_written_here{environment="dev"} 1
fairlead_environments_waiting 2
fairlead_fleet_flush_seconds_count 1
fairlead_fleet_pending_changes 7
fairlead_fleet_refusals_total{reason="contested"} 0
fairlead_fleet_refusals_total{reason="objects"} 0
fairlead_fleet_refusals_total{reason="renamed"} 0
fairlead_fleet_refusals_total{reason="replayed"} 1
fairlead_fleet_refusals_total{reason="second-name"} 0
fairlead_fleet_refusals_total{reason="unauthorized"} 0
fairlead_fleet_refusals_total{reason="unproven"} 0
fairlead_fleet_reports_total{outcome="everything",source="agent"} 1
fairlead_fleet_reports_total{outcome="other",source="agent"} 1
fairlead_fleet_reports_total{outcome="unauthorized",source="argocd"} 1
fairlead_fleet_reports_total{outcome="woken",source="flux"} 1
fairlead_fleet_rollout_age_seconds{environment="dev"} 90
fairlead_fleet_rollout_percent{environment="dev"} 75
fairlead_fleet_store_bytes 4096
fairlead_forge_call_duration_seconds_count{forge="api.github.com",operation="list-pulls"} 1
fairlead_forge_calls_total{forge="api.github.com",operation="list-pulls",outcome="ok"} 1
fairlead_forge_rate_limit_remaining{host="api.github.com"} 4999
fairlead_forge_token_expiry_timestamp_seconds{host="api.github.com"} 6000
fairlead_git_call_duration_seconds_count{host="git.example.com",operation="fetch"} 2
fairlead_git_call_duration_seconds_count{host="local",operation="other"} 1
fairlead_git_calls_total{host="git.example.com",operation="fetch",outcome="failed"} 1
fairlead_git_calls_total{host="git.example.com",operation="fetch",outcome="ok"} 1
fairlead_git_calls_total{host="local",operation="other",outcome="ok"} 1
fairlead_levers_total{lever="hold",outcome="done"} 1
fairlead_problems{environment="dev",severity="problem"} 2
fairlead_problems{environment="dev",severity="warning"} 1
fairlead_promotion_behind_commits{environment="dev"} 2
fairlead_promotion_behind_commits{environment="prod"} 0
fairlead_promotion_frozen{environment="dev"} 0
fairlead_promotion_frozen{environment="prod"} 1
fairlead_promotion_held{environment="dev"} 1
fairlead_promotion_held{environment="prod"} 0
fairlead_promotion_lanes{environment="dev",state="ahead"} 1
fairlead_promotion_lanes{environment="dev",state="held"} 1
fairlead_promotion_lanes{environment="dev",state="waiting"} 1
fairlead_promotion_lanes{environment="prod",state="ahead"} 0
fairlead_promotion_lanes{environment="prod",state="held"} 0
fairlead_promotion_lanes{environment="prod",state="waiting"} 0
fairlead_promotion_lead_time_seconds_count{environment="dev"} 2
fairlead_promotion_verified{environment="dev"} 1
fairlead_promotion_verified{environment="prod"} 0
fairlead_promotion_waiting_since_timestamp_seconds{environment="dev"} 900
fairlead_promotion_waiting_since_timestamp_seconds{environment="prod"} 0
fairlead_promotion_waiting{environment="dev",gate="after test"} 0
fairlead_promotion_waiting{environment="dev",gate="freeze"} 0
fairlead_promotion_waiting{environment="dev",gate="smoke"} 0
fairlead_promotion_waiting{environment="prod",gate="after test"} 1
fairlead_promotion_waiting{environment="prod",gate="freeze"} 1
fairlead_promotion_waiting{environment="prod",gate="smoke"} 1
fairlead_promotions_total{environment="dev"} 1
fairlead_remote_failing{host="git.example.com"} 1
fairlead_replica_shares 2
fairlead_replica_takeovers_total 3
fairlead_replicas 2
fairlead_verifications_total{outcome="different"} 1
fairlead_verifications_total{outcome="same"} 0
fairlead_webhooks_total{forge="argocd",outcome="unauthorized"} 1
fairlead_webhooks_total{forge="flux",outcome="woken"} 1
fairlead_webhooks_total{forge="github",outcome="woken"} 1
fairlead_webhooks_total{forge="other",outcome="other"} 1`
	var got []string
	for line := range strings.Lines(scrape(busy()).Body.String()) {
		if strings.HasPrefix(line, "fairlead_") && !strings.Contains(line, "_bucket{") && !strings.Contains(line, "_seconds_sum") && !strings.HasPrefix(line, "fairlead_fleet_clusters") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(strings.Split(want, "\n"), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForget(t *testing.T) {
	m := busy()
	use(m)
	m.RecordEnvironment(status.Environment{Name: "prod", Assignments: 3})
	m.ForgetEnvironment("dev")
	body := scrape(m).Body.String()
	if strings.Contains(body, `environment="dev"`) {
		t.Errorf("dev is still there:\n%s", body)
	}
	if !strings.Contains(body, `fairlead_assignments{environment="prod"} 3`) {
		t.Error("prod is gone too")
	}
}

func TestScrape(t *testing.T) {
	body := scrape(busy()).Body.String()
	for _, want := range []string{
		"go_goroutines ", "process_start_time_seconds ", `fairlead_cycle_duration_seconds_count 2`,
		`fairlead_git_call_duration_seconds_count{host="git.example.com",operation="fetch"} 2`,
		`fairlead_forge_call_duration_seconds_sum{forge="api.github.com",operation="list-pulls"} 1`,
		`fairlead_environment_duration_seconds_sum{environment="dev"} 2`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(body, "secret") || strings.Contains(body, "org/repo") {
		t.Error("a URL became a label")
	}
}

func TestNil(t *testing.T) {
	use(nil)
	(*Metrics)(nil).ForgetEnvironment("dev")
	if got := scrape(nil).Code; got != http.StatusNotFound {
		t.Errorf("status %d, want 404", got)
	}
}

// TestNotUTF8 names an environment so that the library would panic.
func TestNotUTF8(t *testing.T) {
	m := New("")
	m.RecordEnvironment(status.Environment{Name: "de\xff", State: status.InSync, Problems: problem.List{{}}, Assignments: 1})
	m.RecordPromotion("de\xff")
	if body := scrape(m).Body.String(); !strings.Contains(body, `fairlead_assignments{environment="de`+"\uFFFD"+`"} 1`) {
		t.Error("the environment is missing")
	}
	m.ForgetEnvironment("de\xff")
	if body := scrape(m).Body.String(); strings.Contains(body, "de\uFFFD") {
		t.Error("the environment is still there")
	}
}

func TestHost(t *testing.T) {
	for _, c := range []struct{ remote, want string }{
		{"git.example.com", "git.example.com"},
		{"Git.Example.com:8443", "git.example.com"},
		{"https://token@git.example.com:8443/a/b", "git.example.com"},
		{"ssh://git@git.example.com/a/b", "git.example.com"},
		{"git@git.example.com:a/b.git", "git.example.com"},
		{"user:secret@git.example.com/a", "git.example.com"},
		{"https://%ff.example.com/a", "\uFFFD.example.com"},
		{"file:///srv/git", "local"},
		{"https://%zz@x/", "local"},
		{"/srv/git", "local"},
		{"../git", "local"},
		{"", "local"},
	} {
		if got := hostLabel(c.remote); got != c.want {
			t.Errorf("host(%q) is %q, want %q", c.remote, got, c.want)
		}
	}
}

func scrape(m *Metrics) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w
}
