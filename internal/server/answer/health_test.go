package answer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestCredentials: a credential has the state of what is most urgent, which says what waits for it. What a forge
// does not tell is not known.
func TestCredentials(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	limit := func(left int, resets time.Time) []status.RequestLimit {
		return []status.RequestLimit{{Name: "core", Limit: 5000, Remaining: left, Resets: resets, Asked: now}}
	}
	const wait = "pull requests and commit statuses of dev and prod wait"
	for name, c := range map[string]struct {
		is   status.Credential
		want string // the state, that of the expiry and of limits, and the concerns
	}{
		"well":                    {status.Credential{Limits: limit(500, in(time.Hour)), Expires: in(7 * 24 * time.Hour)}, "good in use, valid, enough left"},
		"the forge tells nothing": {status.Credential{}, "good in use, not known"},
		"of an App":               {status.Credential{Renewed: true, Limits: limit(5000, in(time.Hour))}, "good in use, renewed, enough left"},
		"few left": {status.Credential{Limits: limit(499, in(time.Hour))},
			"waiting few left, not known, few left: 499 of 5000 requests of core are left until 2026-11-28T13:00:00Z; without any, " + wait},
		"none left":     {status.Credential{Limits: limit(0, in(time.Hour))}, "bad none left, not known, none left: no request of core is left until 2026-11-28T13:00:00Z: " + wait},
		"it began anew": {status.Credential{Limits: limit(0, in(0))}, "good in use, not known, began anew"},
		"refused":       {status.Credential{RetryAt: in(time.Minute)}, "bad none left, not known: the forge takes no more requests until 2026-11-28T12:01:00Z: " + wait + " until then"},
		"refused, as the limit says": {status.Credential{RetryAt: in(time.Hour), Limits: limit(0, in(time.Hour))},
			"bad none left, not known, none left: no request of core is left until 2026-11-28T13:00:00Z: " + wait},
		"was refused": {status.Credential{RetryAt: in(0)}, "good in use, not known"},
		"expires soon": {status.Credential{Expires: in(7*24*time.Hour - time.Second)},
			"waiting expires soon, expires soon: the token expires at 2026-12-05T11:59:59Z: from then on " + wait},
		"refused, and not known to expire": {status.Credential{Refused: true}, "bad refused, not known: the forge does not accept the token: " + wait},
		"refused, and expired":             {status.Credential{Refused: true, Expires: in(0)}, "bad expired, expired: the token expired at 2026-11-28T12:00:00Z: " + wait},
		"expired":                          {status.Credential{Expires: in(0)}, "bad expired, expired: the token expired at 2026-11-28T12:00:00Z: " + wait},
		"expires soon, and none left": {status.Credential{Expires: in(time.Hour), Limits: limit(0, time.Time{})},
			"bad none left, expires soon, none left: no request of core is left: " + wait + ": the token expires at 2026-11-28T13:00:00Z: from then on " + wait},
		"for no output": {status.Credential{Expires: in(0), Repositories: []string{"https://forge.example/other"}},
			"bad expired, expired: the token expired at 2026-11-28T12:00:00Z: pull requests and commit statuses wait"},
	} {
		if c.is.Asked.IsZero() {
			c.is.Asked = now
		}
		if c.is.Repositories == nil {
			c.is.Repositories = []string{"https://forge.example/acme/gitops"}
		}
		c.is.URL = "https://forge.example"
		s := Source{Now: now, Snapshot: status.Snapshot{Credentials: []status.Credential{c.is}, Environments: []status.Environment{
			{Name: "dev", Output: status.Output{Repo: "https://forge.example/acme/gitops.git"}}, {Name: "prod", Output: status.Output{Repo: "https://forge.example/acme/gitops.git"}}, {Name: "none"},
		}}}
		shown := s.Status().Credentials[0]
		got := fmt.Sprintf("%s %s, %s", shown.State.Tone, shown.State.Word, shown.Expiry.Word)
		for _, l := range shown.Limits {
			got += ", " + l.State.Word
		}
		for _, concern := range shown.Concerns {
			got += ": " + concern.Reason
			if concern.Hint == "" {
				t.Errorf("%s: no hint says what to do", name)
			}
		}
		if got != c.want {
			t.Errorf("%s:\n %s, want\n %s", name, got, c.want)
		}
		if needs := s.Needs(); (len(needs) == 1) != (shown.Expiry.Word == "expired" || shown.Expiry.Word == "expires soon") {
			t.Errorf("%s: a person is needed for %v", name, needs)
		}
	}
}

// TestHealth: Fairlead itself has one state, which is bad also while a repository does not answer or a credential
// cannot be used, and warns before.
func TestHealth(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	silent := []status.Remote{{URL: "/srv/cp"}, {URL: "/srv/gitops", Error: "gone"}}
	expiring := func(d time.Duration) []status.Credential {
		return []status.Credential{{URL: "https://forge.example", Expires: now.Add(d), Asked: now}}
	}
	for name, c := range map[string]struct {
		is   Source
		want string
	}{
		"well":          {Source{}, "good ready: "},
		"not ready":     {Source{Reasons: []string{"no cycle"}, Snapshot: status.Snapshot{Remotes: silent}}, "bad not ready: no cycle; 1 of 2 repositories answer"},
		"silent":        {Source{Snapshot: status.Snapshot{Remotes: silent}}, "bad fails: 1 of 2 repositories answer"},
		"overdue":       {Source{Overdue: []status.Unfinished{{Environment: "dev", Since: now}}}, "bad fails: environment dev has not finished a cycle since 2026-11-28T12:00:00Z"},
		"expires":       {Source{Snapshot: status.Snapshot{Credentials: expiring(time.Hour)}}, "waiting warning: https://forge.example: the token expires at 2026-11-28T13:00:00Z: from then on pull requests and commit statuses wait"},
		"expires later": {Source{Snapshot: status.Snapshot{Credentials: expiring(expiresSoon)}}, "good ready: "},
		"expired":       {Source{Snapshot: status.Snapshot{Credentials: expiring(-time.Hour)}}, "bad fails: https://forge.example: the token expired at 2026-11-28T11:00:00Z: pull requests and commit statuses wait"},
	} {
		c.is.Now = now
		state, reasons := c.is.Health()
		if got := fmt.Sprintf("%s %s: %s", state.Tone, state.Word, strings.Join(reasons, "; ")); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.is.Status().State != state {
			t.Errorf("%s: the answer has another state", name)
		}
	}
}

// TestIssueText: what people paste into a public issue names no server, repository, environment or person, and no
// secret, whatever messages say.
func TestIssueText(t *testing.T) {
	const repo = "https://git.acme.example/team/gitops"
	s := Source{Version: "1.2.3", Reasons: []string{"the control plane cannot be read: /srv/acme/plane.git: permission denied"}, Snapshot: status.Snapshot{
		Remotes: []status.Remote{
			{URL: repo, Failures: 3, Error: repo + ": dial tcp 10.2.3.4:443: lookup git.acme.example: no such host, as prod-eu by Bob Builder (bob@acme.example)"},
			{URL: "git@ssh.acme.example:team/plane.git", Error: "ssh.acme.example refuses https://alice:hunter2@other.example/x?token=abcdefgh; [fe80::1]:22"},
			{URL: "/srv/acme/plane.git"},
		},
		Cycle: status.Cycle{Number: 7, Outcome: status.OutcomeFailed, Error: "prod-eu: éva has closed it"}, Cycles: []status.Cycle{{Number: 7, Took: 2 * time.Second, Outcome: status.OutcomeFailed}},
		Environments: []status.Environment{{Name: "prod-eu", State: status.Failed, Output: status.Output{Repo: repo}}, {Name: "dev", State: status.Failed}, {Name: "ready", State: status.Proposed}},
		Chain:        status.Chain{Commits: []status.Commit{{ID: "c1", Author: "Bob Builder"}, {ID: "c2", Author: "Fairlead"}}, Stages: []status.Stage{{Environment: "prod-eu", Turns: []status.Turn{{Who: "éva"}}}}},
		Credentials:  []status.Credential{{URL: "https://git.acme.example", Forge: "github", Asked: time.Unix(1, 0), Limits: []status.RequestLimit{{Name: "core", Limit: 5000, Remaining: 4000}}}},
		Examination: status.Examination{Findings: []status.Finding{
			{Level: status.LevelFail, Subject: repo + ": token", Message: "GitHub does not show it to Bob Builder's token"}, {Level: status.LevelOK, Subject: "https://git.acme.example: API", Message: "it answers at https://api.acme.example/v3."},
		}},
	}}
	const want = `Fairlead 1.2.3: not ready
- the control plane cannot be read: REPOSITORY: permission denied
cycles: 1 of the last 1 failed, the longest took 2s, the last was number 7
- ENVIRONMENT: PERSON has closed it
environments: 3 (failed 2, proposed 1), overdue 0
repositories: 1 of 3 answer
- failed 3 times: REPOSITORY: dial tcp ADDRESS: lookup HOST: no such host, as ENVIRONMENT by PERSON (ADDRESS)
- failed 0 times: HOST refuses URL; ADDRESS
credentials: 1
- github: in use; requests left: core 4000 of 5000; expiry: not known
checks of the set-up: 2
- fail REPOSITORY: token: GitHub does not show it to PERSON's token
- ok REPOSITORY: API: it answers at URL.
`
	if got := s.Status().IssueText(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (Source{}).Status().IssueText(); !strings.Contains(got, "repositories: 0 of 0 answer\n") {
		t.Errorf("with nothing it is\n%s", got)
	}
}
