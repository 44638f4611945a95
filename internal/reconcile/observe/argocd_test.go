package observe_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// argoTemplate returns the template of the body that the how-to guide has for Argo CD's notifications,
// which expand it with sprig's functions.
func argoTemplate(t *testing.T) *template.Template {
	t.Helper()
	page, err := os.ReadFile("../../../docs/how-to/bootstrap-a-cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(page), "```yaml\n") {
		var config struct{ Data map[string]string }
		text, _, _ := strings.Cut(block, "```\n")
		if yaml.Unmarshal([]byte(text), &config) != nil || config.Data["template.fairlead"] == "" {
			continue
		}
		var notification struct {
			Webhook map[string]struct{ Body string }
		}
		if err := yaml.Unmarshal([]byte(config.Data["template.fairlead"]), &notification); err != nil {
			t.Fatal(err)
		}
		return template.Must(template.New("").Funcs(sprig.TxtFuncMap()).Parse(notification.Webhook["fairlead"].Body))
	}
	t.Fatal("the page has no template")
	return nil
}

// TestArgoCD expands the template with the status of an Application, as Argo CD's API has it.
func TestArgoCD(t *testing.T) {
	const old, next = "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1", "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334"
	body := argoTemplate(t)
	for _, c := range []struct{ name, status, want string }{
		{"just made", `{"sync": {"status": "Unknown"}, "health": {"status": "Unknown"}}`, "progressing "},
		{"out of sync with a branch", `{"sync": {"status": "OutOfSync", "revision": "main"}, "health": {"status": "Healthy"}}`, "progressing "},
		{"syncing", `{"sync": {"status": "OutOfSync", "revision": "` + next + `"}, "health": {"status": "Healthy"},
			"operationState": {"phase": "Running", "message": "waiting for healthy state of apps/Deployment/gull", "startedAt": "2026-11-23T11:58:00Z", "syncResult": {"revision": "` + next + `"}}}`,
			"progressing " + next + " waiting for healthy state of apps/Deployment/gull"},
		{"synced, and not healthy yet", `{"sync": {"status": "Synced", "revision": "` + next + `"}, "health": {"status": "Progressing"},
			"operationState": {"phase": "Succeeded", "message": "successfully synced (all tasks run)", "syncResult": {"revision": "` + next + `"}}}`,
			"progressing " + next + " successfully synced (all tasks run)"},
		{"deployed", `{"sync": {"status": "Synced", "revision": "` + next + `", "comparedTo": {}}, "health": {"status": "Healthy", "lastTransitionTime": "2026-11-23T11:59:00Z"},
			"operationState": {"phase": "Succeeded", "message": "successfully synced (all tasks run)", "syncResult": {"revision": "` + next + `"}}, "reconciledAt": "2026-11-23T12:00:00Z"}`,
			"ready " + next + " successfully synced (all tasks run)"},
		{"a newer commit that changes nothing of it", `{"sync": {"status": "Synced", "revision": "` + next + `"}, "health": {"status": "Healthy"},
			"operationState": {"phase": "Succeeded", "syncResult": {"revision": "` + old + `"}}}`, "ready " + next},
		{"degraded", `{"sync": {"status": "Synced", "revision": "` + next + `"}, "health": {"status": "Degraded"},
			"operationState": {"phase": "Succeeded", "message": "a \"quote\"\nand a line", "syncResult": {"revision": "` + next + `"}}}`, "failed " + next + ` a "quote" and a line`},
		{"the sync failed", `{"sync": {"status": "OutOfSync", "revision": "main"}, "health": {"status": "Healthy"},
			"operationState": {"phase": "Failed", "message": "one or more objects failed to apply", "syncResult": {"revision": "` + next + `"}}}`, "failed " + next + " one or more objects failed to apply"},
		{"the sync could not begin", `{"sync": {"status": "Unknown", "revision": "main"}, "health": {"status": "Healthy"}, "operationState": {"phase": "Error", "message": "repository not accessible"}}`,
			"failed  repository not accessible"},
		{"mended after a failed sync", `{"sync": {"status": "Synced", "revision": "` + next + `"}, "health": {"status": "Healthy"},
			"operationState": {"phase": "Failed", "syncResult": {"revision": "` + old + `"}}}`, "ready " + next},
		{"suspended", `{"sync": {"status": "Synced", "revision": "` + next + `"}, "health": {"status": "Suspended"}}`, "suspended " + next},
		{"a chart", `{"sync": {"status": "Synced", "revision": "1.2.3"}, "health": {"status": "Healthy"}}`, "ready 1.2.3"},
		{"ready at nothing", `{"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}`, "no report"},
	} {
		var app map[string]any
		if err := json.Unmarshal([]byte(`{"metadata": {"name": "fleet", "namespace": "argocd"}, "status": `+c.status+`}`), &app); err != nil {
			t.Fatal(err)
		}
		var sent bytes.Buffer
		err := body.Execute(&sent, map[string]any{"app": app, "time": map[string]any{"Now": func() time.Time { return noon.Add(500 * time.Millisecond).In(time.FixedZone("", 3600)) }}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := observe.ParseArgoCD(sent.Bytes(), "east-1")
		got := strings.TrimSpace(string(e.Phase) + " " + e.Commit + e.Version + " " + e.Message)
		if errors.Is(err, observe.ErrNoReport) {
			got = "no report"
		}
		if got != strings.TrimSpace(c.want) || err != nil && got != "no report" {
			t.Errorf("%s: %s, %v; want %s\n%s", c.name, got, err, c.want, &sent)
		}
		if got != "no report" && (e.Cluster != "east-1" || !e.Proven || e.Object != "Application/argocd/fleet" || e.Environment != "dev" || e.ClusterType != "cloud" || !e.When.Equal(noon)) {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

// TestArgoCDRefused: what lacks a name, a status or a time is no report.
func TestArgoCDRefused(t *testing.T) {
	const good = `{"app": "fleet", "namespace": "argocd", "sync": "Synced", "health": "Healthy", "revision": "1.2.3", "time": "2026-11-23T12:00:00Z"}`
	if _, err := observe.ParseArgoCD([]byte(good), "east-1"); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"app": "fleet"`, `"app": ""`}, {`"namespace": "argocd"`, `"namespace": null`}, {`"sync": "Synced"`, `"sync": ""`}, {`"health": "Healthy"`, `"health": ""`},
		{`"2026-11-23T12:00:00Z"`, `"yesterday"`}, {`"fleet"`, `"fl\neet"`}, {`"fleet"`, `"` + strings.Repeat("f", 254) + `"`}, {good, "{"}, {good, "[]"}, {good, "{}"},
	} {
		if e, err := observe.ParseArgoCD([]byte(strings.Replace(good, change[0], change[1], 1)), "east-1"); err == nil {
			t.Errorf("%s is read as %+v", change[1], e)
		}
	}
}
