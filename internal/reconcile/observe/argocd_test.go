package observe_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig"
	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/ledger/connect"
	"github.com/fairlead-io/fairlead/internal/ledger/kubestatus"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// argoTemplate returns the template of the body that fairlead cluster connect renders for Argo CD's
// notifications, which expand it with sprig's functions.
func argoTemplate(t *testing.T) *template.Template {
	t.Helper()
	rendered, err := connect.Render(connect.ArgoCD, connect.Options{
		Cluster: "east-1", Server: "https://fairlead.example.com", Environment: "dev", ClusterType: "cloud", Object: "fleet",
	})
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ Data map[string]string }
	var notification struct {
		Webhook map[string]struct{ Body string }
	}
	err = yaml.Unmarshal(rendered.Manifests, &config)
	if err == nil {
		err = yaml.Unmarshal([]byte(config.Data["template.fairlead"]), &notification)
	}
	if err != nil || notification.Webhook["fairlead"].Body == "" {
		t.Fatalf("there is no template: %v", err)
	}
	return template.Must(template.New("").Funcs(sprig.TxtFuncMap()).Parse(notification.Webhook["fairlead"].Body))
}

// notify returns what Argo CD's notifications send of an Application.
func notify(t *testing.T, body *template.Template, app map[string]any) []byte {
	t.Helper()
	var sent bytes.Buffer
	err := body.Execute(&sent, map[string]any{"app": app, "time": map[string]any{"Now": func() time.Time { return noon.Add(500 * time.Millisecond).In(time.FixedZone("", 3600)) }}})
	if err != nil {
		t.Fatal(err)
	}
	return sent.Bytes()
}

// TestArgoCDAgrees: what Argo CD's notifications say of an Application is what an agent reads of it.
func TestArgoCDAgrees(t *testing.T) {
	archive, err := txtar.ParseFile("../../ledger/kubestatus/testdata/argocd.txtar")
	if err != nil {
		t.Fatal(err)
	}
	body, compared := argoTemplate(t), 0
	for document := range strings.SplitSeq(string(archive.Files[0].Data), "\n---\n") {
		var app map[string]any
		if err := sigsyaml.Unmarshal([]byte(document), &app); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(app)
		if err != nil {
			t.Fatal(err)
		}
		if app["kind"] != "Application" {
			continue
		}
		compared++
		read := kubestatus.Read(map[string][]json.RawMessage{"Application": {raw}}, noon)
		request := agentapi.Request{Sent: noon, Entries: read}
		all := request.Reports(0)
		want := all[len(all)-1]
		e, err := observe.ParseArgoCD(notify(t, body, app), "east-1")
		got := e.Report()
		if err != nil || got.Object.Name != want.Object.Name || got.Phase != want.Phase || got.Phase == ledger.Ready && got.Target != want.Target {
			t.Errorf("%s: notifications say %+v, %v; an agent says %+v", want.Object.Name, got, err, want)
		}
	}
	if compared < 2 {
		t.Errorf("%d Applications were compared", compared)
	}
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
		if err := json.Unmarshal([]byte(`{"metadata": {"name": "fleet", "namespace": "argocd"}, "spec": {"source": {"targetRevision": "refs/heads/dev"}}, "status": `+c.status+`}`), &app); err != nil {
			t.Fatal(err)
		}
		sent := notify(t, body, app)
		e, err := observe.ParseArgoCD(sent, "east-1")
		got := strings.TrimSpace(string(e.Phase) + " " + e.Commit + e.Version + " " + e.Message)
		if errors.Is(err, observe.ErrNoReport) {
			got = "no report"
		}
		if got != strings.TrimSpace(c.want) || err != nil && got != "no report" {
			t.Errorf("%s: %s, %v; want %s\n%s", c.name, got, err, c.want, sent)
		}
		if got != "no report" && (e.Cluster != "east-1" || !e.Proven || e.Object != "Application/argocd/fleet" || e.Branch != map[bool]string{true: "dev"}[e.Commit != ""] || e.Environment != "dev" || e.ClusterType != "cloud" || !e.When.Equal(noon)) {
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
