package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// pastActions returns something of each kind that people and Fairlead do.
func pastActions(context.Context) (history.Log, error) {
	const repo = "https://git.example.com/org/control-plane"
	at := func(hours int) time.Time { return noon.Add(-time.Duration(hours) * time.Hour) }
	all := []history.Entry{
		{Time: at(1), Who: "Fairlead", Environment: "dev", Action: "promote", Title: "Promote to dev", From: c2, To: c4, Reason: "queue: the newest commit goes first", Commit: c1, Repo: repo, Authored: at(4)},
		{Time: at(2), Who: "carol", Environment: "prod", Action: "promote", Title: "Promote to prod", To: c2, Authored: at(30), Forced: "fix of the <outage>", Overrides: []string{"it is not verified in stage yet"}, Commit: c2, Repo: repo},
		{Time: at(3), Who: "erin", Via: "web", Environment: "prod", Action: "approve", Title: "Approve for prod", To: c4, Reason: "seen in stage", Commit: c3, Repo: "git@git.example.com:org/control-plane.git"},
		{Time: at(3), Who: "alice", Environment: "stage", Action: "merge", Title: "stage: less <noise>", From: c1, To: c2, Forced: "the sale <is> over", Overrides: []string{"problems stopped stage, and it proposed what the files said before"}, Commit: c3, Repo: repo, Pull: 12, URL: "https://git.example.com/org/gitops/pull/12"},
		{Time: at(3), Environment: "stage", Action: "close", Title: "stage: noise", Commit: c3, Repo: "/srv/git", Pull: 12},
		{Time: at(3), Who: "bob", Action: "merge", Title: "Remove what old has left", Commit: c3, Repo: "/srv/git", Pull: 3},
		{Time: at(4), Who: "dana", Action: "freeze", Title: "Freeze prod: sale", Environments: []string{"prod"}, Reason: "the sale", Commit: c3, Repo: "/srv/git"},
	}
	all = append(all,
		history.Entry{Time: at(5), Who: "dana", Action: "freeze-exception", Title: "Let c4d4e4f pass the freeze sale", To: c4, Environments: []string{"prod"}, Reason: "the fix", Commit: c3, Repo: repo},
		history.Entry{Time: at(6), Who: "dana", Action: "end-freeze", Title: "End the freeze sale", Environments: []string{"prod"}, Commit: c3, Repo: repo},
		history.Entry{Time: at(7), Who: "erin", Environment: "prod", Action: "approve", Title: "Approve the plan b86d2da of shop/eu/database in prod", Commit: c3, Repo: repo},
		history.Entry{Time: at(8), Who: "erin", Environment: "prod", Action: "tear-down-stack", Title: "Tear down the stack shop/old in prod", Commit: c3, Repo: repo},
		history.Entry{Time: at(9), Who: "erin", Environment: "prod", Action: "merge", Title: "prod: update size", To: c2, Commit: c3, Repo: repo, Own: git.CommitInfo{ID: strings.Repeat("d", 40), Message: "A larger <database>", Author: git.Signature{Name: "dana"}, When: noon}})
	for i := range 60 {
		all = append(all, history.Entry{Time: at(10 + i), Who: "bob", Environment: "stage", Action: "hold", Title: "Hold stage", Reason: fmt.Sprintf("reason %d", i), Commit: c3, Repo: repo})
	}
	all[len(all)-60].Lanes = []history.LaneVersion{{Lane: "<shop>", Commit: c3}, {Lane: "till"}}
	deployments := map[string][]history.Deployment{"dev": {{Commit: c4, Merged: at(1), Authored: at(4)}}, "prod": {{Commit: c2, Merged: at(2), Authored: at(30)}}, "test": nil, "stage": nil, "east": nil, "west": nil, "edge": nil}
	return history.Log{Entries: all, Deployments: deployments, Unread: []history.Unread{{Repo: "https://git.example.com/org/other", Reason: "the <forge> does not answer"}}}, nil
}

// TestHistory: what was done is listed as it was asked for, and the page says why it cannot be.
func TestHistory(t *testing.T) {
	full := open(fleet())
	with := func(past func(context.Context) (history.Log, error)) http.Handler {
		return New(Options{Store: &status.Store{}, History: past})
	}
	for path, c := range map[string]struct {
		h      http.Handler
		target string
	}{
		"all": {full, "/history"}, "forced": {full, "/history?forced=on&env=prod"}, "none-like-that": {full, "/history?q=zzz"}, "figures": {full, figuresPath},
		"empty": {with(func(context.Context) (history.Log, error) { return history.Log{}, nil }), "/history"},
		"failed": {with(func(context.Context) (history.Log, error) {
			return history.Log{}, errors.New("the repository is damaged")
		}), "/history"},
	} {
		golden(t, "testdata/history/"+path+".html", mainOf(ask(c.h, http.MethodGet, c.target).Body.String()))
	}
	for query, want := range map[string]int{
		"": 73, "what=recovered": 1, "what=merge": 3, "what=merged": 3, "what=close&env=stage": 1, "env=prod": 8, "env=prod&what=freeze": 1, "what=ended+a+freeze": 1, "what=end+freeze&env=prod": 1, "what=freeze-exception": 1, "what=tear+down+stack&env=prod": 1, "what=cloned+a+stack": 0, "env=dev&what=freeze": 0, "who=erin": 4, "who=ERIN": 4, "q=pull+request+12": 2, "what=hold": 60, "forced=on": 2, "forced=on&env=stage": 1, "since=2026-11-21": 16, "since=2026-11-21T00:00Z": 16, "since=2026-11-21T00:00:00Z&until=2026-11-21T00:00:00Z": 0, "until=2026-11-18": 9, "until=2026-11-21&what=freeze": 1, "q=sale": 4, "page=99": 73, "q=CHANGE": 6, "q=ALICE": 6, "q=carol": 1,
	} {
		body := ask(full, http.MethodGet, "/api/v1/history?"+query).Body.String()
		if !strings.Contains(body, fmt.Sprintf(`"total": %d,`, want)) {
			t.Errorf("%q has not %d entries: %.200s", query, want, body)
		}
	}
}

// TestFailedWeeks: the picture of figures says in digits, and not by a colour alone, in which weeks deployments failed.
func TestFailedWeeks(t *testing.T) {
	weeks := []answer.Figure{{Start: noon, Deployments: 2, Lead: new(60)}, {Start: noon, Deployments: 3, Failed: 2, Lead: new(60)}}
	kept, err := page.Render(page.Frame{Path: figuresPath, History: true}, page.Figures{Figures: answer.Figures{Environments: []answer.EnvironmentFigures{{Environment: "prod", Weeks: weeks}}}})
	if err != nil {
		t.Fatal(err)
	}
	body, _ := kept.For(page.Reader{})
	picture := regexp.MustCompile(`(?s)<svg class="timeline".*?</svg>`).FindString(string(body))
	if got := regexp.MustCompile(`<text class="of"[^>]*>([^<]*)<`).FindAllStringSubmatch(picture, -1); len(got) != 1 || got[0][1] != "2" {
		t.Errorf("the numbers are %q in\n%s", got, picture)
	}
}

// TestHostileHistory writes hostile texts into all that the history shows.
func TestHostileHistory(t *testing.T) {
	for _, text := range hostile {
		src := newSite(Options{Store: fleet()}).readState()
		query := map[string][]string{"q": {text}, "env": {text}, "who": {text}, "what": {text}, "since": {text}}
		all := []history.Entry{{Who: text, Via: text, Environment: text, Action: text, Title: text, From: text, To: text, Reason: text, Forced: text, Overrides: []string{text}, Commit: text, Repo: text, URL: text, Pull: 1}, {Title: text}}
		for _, of := range []any{src.History(history.Log{Entries: all, Unread: []history.Unread{{Repo: text, Reason: text}}}, page.ParseHistoryFilter(nil)), errorAnswer{text, text}} {
			kept, err := page.Render(page.Frame{Path: "/history?" + text, History: true}, shownAt(historyPath, of, []string{text}, query))
			if err != nil {
				t.Fatal(err)
			}
			body, _ := kept.For(page.Reader{Name: text, Waiting: text})
			checkMarkup(t, text, string(body))
		}
	}
}
