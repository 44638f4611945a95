package agent

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/testkit/kubeapi"
)

func newTestCluster(t *testing.T, config *kubeclient.Config) *Cluster {
	t.Helper()
	c, err := NewCluster(config, "test")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPages: a cluster with many objects is read page by page, and from the beginning if a page has
// expired.
func TestPages(t *testing.T) {
	api := kubeapi.Start(t, "uid-1")
	for i := range 1201 {
		api.Put(t, fmt.Sprintf(`{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"namespace": "apps", "name": "app-%04d"}}`, i))
	}
	c := newTestCluster(t, &kubeclient.Config{Host: api.URL})
	for _, expire := range []bool{false, true} {
		if expire {
			api.ExpireContinue()
		}
		state, uid, err := c.Read(t.Context(), at("12:00"))
		if err != nil || uid != "uid-1" || len(state.Entries()) != 1201 {
			t.Errorf("%d objects of %q, %v", len(state.Entries()), uid, err)
		}
	}
	pages := 0
	for _, request := range api.Requests() {
		if strings.Contains(request, "continue=") {
			pages++
		}
	}
	if pages < 3 {
		t.Errorf("%d further pages were asked for", pages)
	}
}

// TestUnreadable shows what is reported where a part of a cluster, or all of it, cannot be read.
func TestUnreadable(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    string
		code    int
		rounds  int
		silent  bool // whether nothing is reported
		unread  string
		objects int
	}{
		{"not allowed", "HelmRelease", http.StatusForbidden, 1, false, "HelmRelease", 2},
		{"broken once", "HelmRelease", http.StatusInternalServerError, 1, true, "", 0},
		{"broken", "HelmRelease", http.StatusInternalServerError, 3, false, "HelmRelease", 2},
		{"all is well", "HelmRelease", 0, 1, false, "", 3},
	} {
		api := kubeapi.Start(t, "uid-1")
		putPlatform(t, api, "large", "ready", outputA, outputA, "11:00")
		api.Put(t, `{"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"namespace": "web", "name": "api"}}`)
		api.Refuse(c.kind, c.code)
		cluster := newTestCluster(t, &kubeclient.Config{Host: api.URL})
		var state agentapi.State
		var err error
		for range c.rounds {
			state, _, err = cluster.Read(t.Context(), at("12:00"))
		}
		unread := ""
		for _, u := range state.Unread() {
			unread += u.Kind
		}
		if (err != nil) != c.silent || unread != c.unread || len(state.Entries()) != c.objects {
			t.Errorf("%s: %d objects, without %q, %v", c.name, len(state.Entries()), unread, err)
		}
	}
}

// TestNothingAllowed: an agent without rights is silent, and says why.
func TestNothingAllowed(t *testing.T) {
	api := kubeapi.Start(t, "uid-1")
	for _, kind := range []string{"Application", "BundleDeployment", "GitRepo", "GitRepository", "HelmRelease", "Kustomization", "OCIRepository", "Terraform"} {
		api.Refuse(kind, http.StatusForbidden)
	}
	_, _, err := newTestCluster(t, &kubeclient.Config{Host: api.URL}).Read(t.Context(), at("12:00"))
	if err == nil || !strings.Contains(err.Error(), "cannot list resource") {
		t.Errorf("it says %v", err)
	}
}

// TestUnknownWhileUnread: objects that can no longer be read are not ready any more, and are again when
// they can.
func TestUnknownWhileUnread(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputA, outputA, "11:00")
	e1 := w.join("e1", api)
	w.runUntil("11:05", e1)
	api.Refuse("Kustomization", http.StatusForbidden)
	w.runUntil("11:10", e1)
	wantText(t, "not allowed", w.state("e1", platform), "unknown main@aa")
	api.Refuse("Kustomization", 0)
	w.runUntil("11:15", e1)
	wantText(t, "allowed again", w.state("e1", platform), "ready main@aa")
}

// TestSilentWithoutCluster: an agent that cannot read its cluster says nothing, so that it is missed.
func TestSilentWithoutCluster(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputA, outputA, "11:00")
	e1 := w.join("e1", api)
	w.runUntil("11:05", e1)
	api.SetTokens("another")
	w.runUntil("11:20", e1)
	wantText(t, "standing", w.standing("e1", outputA, w.outputs), "silent")
	if err := e1.agent.findTrouble(); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("the agent says %v", err)
	}
	api.SetTokens()
	w.runUntil("11:22", e1)
	wantText(t, "standing", w.standing("e1", outputA, w.outputs), "ready")
}

// TestOlderVersions: what an older Flux has is read in its own version.
func TestOlderVersions(t *testing.T) {
	api := kubeapi.Start(t, "uid-1")
	api.Put(t, `{"apiVersion": "kustomize.toolkit.fluxcd.io/v1beta2", "kind": "Kustomization", "metadata": {"namespace": "apps", "name": "app"}}`)
	state, _, err := newTestCluster(t, &kubeclient.Config{Host: api.URL}).Read(t.Context(), at("12:00"))
	if err != nil || len(state.Entries()) != 1 {
		t.Errorf("%d objects, %v", len(state.Entries()), err)
	}
}

// TestTokenRotates: a pod whose token is replaced goes on with the new one.
func TestTokenRotates(t *testing.T) {
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputA, outputA, "11:00")
	file := filepath.Join(t.TempDir(), "token")
	rotate := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		api.SetTokens(token)
	}
	rotate("one")
	c := newTestCluster(t, &kubeclient.Config{Host: api.URL, BearerTokenFile: file})
	for _, token := range []string{"one", "two", "three"} {
		rotate(token)
		_, _, err := c.Read(t.Context(), at("12:00"))
		if err != nil { // the first request that is refused has the new one read
			_, _, err = c.Read(t.Context(), at("12:00"))
		}
		if err != nil {
			t.Errorf("with the token %s: %v", token, err)
		}
	}
}

// TestKubeconfig: a kubeconfig may have a program print the token, and several contexts.
func TestKubeconfig(t *testing.T) {
	api := kubeapi.StartTLS(t, "uid-1")
	api.SetTokens("printed")
	api.Install("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
	dir := t.TempDir()
	plugin := filepath.Join(dir, "login")
	if err := os.WriteFile(plugin, []byte("#!/bin/sh\n"+
		`echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "printed"}}'`+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: nowhere
clusters:
- {name: here, cluster: {server: %q, certificate-authority-data: %q}}
contexts:
- {name: nowhere, context: {cluster: none, user: me}}
- {name: here, context: {cluster: here, user: me}}
users:
- name: me
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}
`, api.URL, base64.StdEncoding.EncodeToString(api.CA), plugin), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := kubeclient.LoadConfig(file, "here")
	if err != nil {
		t.Fatal(err)
	}
	if _, uid, err := newTestCluster(t, config).Read(t.Context(), at("12:00")); err != nil || uid != "uid-1" {
		t.Errorf("%q, %v", uid, err)
	}
	for _, c := range []struct{ file, context string }{{file, "other"}, {filepath.Join(dir, "none"), ""}, {"", ""}} {
		if _, err := kubeclient.LoadConfig(c.file, c.context); err == nil {
			t.Errorf("%+v is found", c)
		}
	}
}

// TestRunEnds: an agent ends with its context, whatever it waits for.
func TestRunEnds(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputA, outputA, "11:00")
	e1 := w.join("e1", api)
	ctx, cancel := context.WithCancel(t.Context())
	e1.agent.options.Wait = func(context.Context, time.Duration) { cancel() }
	e1.agent.Run(ctx)
	wantText(t, "P", w.state("e1", platform), "ready main@aa")
}
