package promoter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// TestRecordMessage: a record's commit says why, and ends with the trailers that name it; one that
// is proposed says nothing that changes while it is reviewed.
func TestRecordMessage(t *testing.T) {
	const older = "89abcdef0123456789abcdef0123456789abcdef"
	verdict := gate.Verdict{Parts: []gate.Verdict{{Gate: "after", Reason: "0123456 was verified in dev"}, {Gate: "queue", Reason: "the newest commit goes first"}}}
	trailers := "Fairlead-Promoted: " + candidate + "\nFairlead-Promotion: stage\n"
	for name, test := range map[string]struct {
		record, subject string
		decision        promote.Decision
		want            string
	}{
		"written directly": {
			subject: "Add a team", decision: promote.Decision{Candidate: candidate, Verdict: verdict},
			want: "Promote 0123456 to stage\n\nAdd a team\n\nafter: 0123456 was verified in dev\nqueue: the newest commit goes first\n\n" + trailers,
		},
		"others are left out": {
			subject: "Add a team", decision: promote.Decision{Candidate: candidate, Skipped: []string{older, candidate}},
			want: "Promote 0123456 to stage\n\nAdd a team\n\nIt supersedes the commits before it: 89abcde, 0123456\n\n" + trailers,
		},
		"proposed": {
			record: recordByPull, subject: "Add a team", decision: promote.Decision{Candidate: candidate, Skipped: []string{older}, Verdict: verdict},
			want: "Promote 0123456 to stage\n\nAdd a team\n\n" + trailers,
		},
		"the last one was not merged": {
			subject: "Add a team", decision: promote.Decision{Current: older, Candidate: candidate, Unmerged: true},
			want: "Promote 0123456 to stage\n\nAdd a team\n\n\nFairlead-Unmerged: " + older + "\n" + trailers,
		},
		"proposed after one that was not merged": {
			record: recordByPull, decision: promote.Decision{Current: older, Candidate: candidate, Unmerged: true}, want: "Promote 0123456 to stage\n\n" + trailers,
		},
		"no subject": {record: recordByPull, decision: promote.Decision{Candidate: candidate}, want: "Promote 0123456 to stage\n\n" + trailers},
	} {
		t.Run(name, func(t *testing.T) {
			got := recordMessage(model.Stage{Name: "stage", Record: test.record}, func(string) string { return test.subject }, test.decision, lane.Composition{Platform: candidate}, nil)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecordBody: what people wrote is no markup in a pull request.
func TestRecordBody(t *testing.T) {
	for name, test := range map[string]struct{ current, subject, commits, want string }{
		"the first":           {"", "Add a team", "", "Merging this promotes commit `" + candidate + "` of the base to `stage`.\n\n> Add a team\n"},
		"another one":         {"89abcde", "", "\n### Why\n", "Merging this promotes commit `" + candidate + "` of the base to `stage`, which is at `89abcde`.\n\n\n### Why\n"},
		"markup is no markup": {"", "<img> @org/all", "", "Merging this promotes commit `" + candidate + "` of the base to `stage`.\n\n> "},
	} {
		t.Run(name, func(t *testing.T) {
			got := recordBody("stage", test.subject, test.commits, promote.Decision{Candidate: candidate, Current: test.current})
			if !strings.HasPrefix(got, test.want) || strings.Contains(got, "<img>") || strings.Contains(got, " @org") {
				t.Errorf("the text is %q, want %q", got, test.want)
			}
		})
	}
}

// verdict makes a verdict of parts: "after=wait" is one of a gate.
func verdict(status gate.Status, parts ...string) gate.Verdict {
	v := gate.Verdict{Gate: "stage", Status: status}
	for _, part := range parts {
		name, is, _ := strings.Cut(part, "=")
		v.Parts = append(v.Parts, gate.Verdict{Gate: name, Kind: gate.Kind(strings.Fields(name)[0]), Status: gate.Status(is)})
	}
	return v
}

// TestProposalOfRecord: a proposed record stays open while only approvals are missing, and may not
// be merged when everything is frozen, or its commit is no longer proven.
func TestProposalOfRecord(t *testing.T) {
	const pass, wait, fail = "=" + string(gate.Pass), "=" + string(gate.Wait), "=" + string(gate.Fail)
	for name, test := range map[string]struct {
		verdict       gate.Verdict
		newer         bool // than the proposed one is the commit that the verdict is on
		onlyApprovals bool
		stops         bool
	}{
		"all passed":                {verdict: verdict(gate.Pass, "after"+pass, "approval"+pass)},
		"an approval":               {verdict: verdict(gate.Wait, "after"+pass, "approval"+wait), onlyApprovals: true},
		"an approval and a window":  {verdict: verdict(gate.Wait, "approval"+wait, "window"+wait)},
		"another gate":              {verdict: verdict(gate.Wait, "approval"+pass, "window"+wait)},
		"a failure":                 {verdict: verdict(gate.Fail, "after"+pass, "checks"+fail)},
		"not proven any more":       {verdict: verdict(gate.Wait, "after"+wait, "approval"+wait), stops: true},
		"not proven where":          {verdict: verdict(gate.Wait, "after dev"+wait), stops: true},
		"a newer one is not proven": {verdict: verdict(gate.Wait, "after"+wait), newer: true},
		"a freeze":                  {verdict: verdict(gate.Wait, "freeze winter"+wait), newer: true, stops: true},
		"a freeze that is over":     {verdict: verdict(gate.Wait, "freeze winter"+pass, "approval"+wait), onlyApprovals: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := onlyApprovals(test.verdict, []string{"approval"}); got != test.onlyApprovals {
				t.Errorf("only approvals are missing: %v, want %v", got, test.onlyApprovals)
			}
			if onlyApprovals(test.verdict, nil) {
				t.Error("only approvals are missing where none is asked for")
			}
			if got := stopsMerge(test.verdict, test.newer); got != test.stops {
				t.Errorf("it stops the merge: %v, want %v", got, test.stops)
			}
			deeper := gate.Verdict{Gate: "stage", Status: test.verdict.Status, Parts: []gate.Verdict{{Gate: "gates", Status: test.verdict.Status, Parts: test.verdict.Parts}}}
			if got := onlyApprovals(deeper, []string{"approval"}); got != test.onlyApprovals {
				t.Errorf("only approvals are missing below: %v, want %v", got, test.onlyApprovals)
			}
			if got := stopsMerge(deeper, test.newer); got != test.stops {
				t.Errorf("it stops the merge below: %v, want %v", got, test.stops)
			}
		})
	}
}
