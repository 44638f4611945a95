package source_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const templatesURL = "https://github.com/berops/claudie-config"

// templatedText is a manifest whose machines are made from templates, and where those are. COMMIT stands
// for their commit.
const templatedText = `apiVersion: claudie.io/v1beta1
kind: TemplateGitReference
metadata: {name: pinned, namespace: claudie}
spec:
  endpoint: {url: github.com/berops/claudie-config, protocol: https}
  commit: COMMIT
  paths: {terraformer: a, playbooks: b, configLb: c, configK8s: d, manifestsK8s: e}
---
apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata: {name: edge, namespace: fleet, annotations: {fairlead.io/existing-secrets: "fleet/hetzner, fleet/token"}}
spec:
  providers:
    - {name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}, templatesRef: {name: pinned, namespace: claudie}}
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu-24.04}
  kubernetes:
    clusters:
      - {name: one, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}
`

// templateWorld is a control plane whose manifest has the templates of a repository, which is read at
// another place, as the settings of a daemon may say.
type templateWorld struct {
	stackWorld
	first, last string // the commits of the templates
}

func newTemplateWorld(t *testing.T, place func(*gittest.Server) string) *templateWorld {
	w := &templateWorld{stackWorld: stackWorld{T: t, Server: gittest.Serve(t)}}
	w.Create("cp")
	w.Create("templates")
	w.first = w.push("templates", "main", map[string]string{"a/b.tpl": "one\n"})
	gittest.Git(t, w.Dir("templates"), "tag", "--annotate", "--message", "first", "v0.11.0", w.first)
	w.last = w.push("templates", "main", map[string]string{"a/b.tpl": "two\n"})
	gittest.Git(t, w.Dir("templates"), "tag", "v0.12.0", w.last)
	w.push("cp", "main", map[string]string{".environments/dev.yaml": strings.ReplaceAll(environment("dev", "dev"), cpURL, w.URL("cp"))})
	var err error
	w.source, err = source.Open(t.Context(), source.Options{
		ControlPlane: w.URL("cp"), CacheDir: t.TempDir(), Parser: model.NewParser(), Map: map[string]string{templatesURL: place(w.Server)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// findings returns what is found of a manifest: all that names the repository of the templates.
func (w *templateWorld) findings(text string) string {
	w.Helper()
	w.push("cp", "dev", map[string]string{"gitops.yaml": object("GitOpsRepo", "dev", "{repo: https://git.example.com/gitops, branch: dev, path: .}"), "edge.yaml": text})
	if err := w.source.Refresh(w.Context()); err != nil {
		w.Fatal(err)
	}
	var found []string
	for _, p := range w.render(source.Revisions{}).Problems {
		if strings.Contains(p.Summary, "repository") {
			line := p.String() + " [" + p.Hint + "]"
			if p.Warning {
				line = "warning: " + line
			}
			found = append(found, line)
		}
	}
	return strings.Join(found, "\n")
}

// TestTemplateCommits: templates whose commit their repository has not, or has no more, are a problem at the
// line that names the commit.
func TestTemplateCommits(t *testing.T) {
	w := newTemplateWorld(t, func(s *gittest.Server) string { return s.URL("templates") })
	for _, commit := range []string{"v0.11.0", "v0.12.0", "main", w.first, w.last[:9]} {
		if found := w.findings(strings.ReplaceAll(templatedText, "COMMIT", commit)); found != "" {
			t.Errorf("%s: %s", commit, found)
		}
	}
	hash := w.source.TemplateHash(t.Context())
	if got := hash(templatesURL, "v0.11.0"); got != w.first {
		t.Errorf("the hash of v0.11.0 is %q, want %q", got, w.first)
	}
	if got := hash(templatesURL, "v0.13.0") + hash("https://git.example.invalid/other", "v0.11.0"); got != "" {
		t.Errorf("the hash of what is not there, or not read, is %q", got)
	}
	wantGone := func(commit, hint string) {
		t.Helper()
		found := w.findings(strings.ReplaceAll(templatedText, "COMMIT", `"`+commit+`"`))
		want := "dev/edge.yaml:6: TemplateGitReference/pinned: " + commit + " is not in the repository " + templatesURL + ": Claudie would fail"
		if !strings.HasPrefix(found, want) || !strings.Contains(found, hint) {
			t.Errorf("%s: found %s\nwant %s and %s", commit, found, want, hint)
		}
	}
	wantGone("v0.13.0", "its tags are v0.11.0 and v0.12.0")
	wantGone("0123456789abcdef0123456789abcdef01234567", "its tags are v0.11.0 and v0.12.0")
	wantGone("main~1", "its tags are v0.11.0 and v0.12.0")
	wantGone("refs/heads/main", "its tags are")

	gittest.Git(t, w.Dir("templates"), "update-ref", "refs/heads/main", w.first)
	gittest.Git(t, w.Dir("templates"), "update-ref", "-d", "refs/tags/v0.12.0")
	wantGone("v0.12.0", "its tags are v0.11.0")
	wantGone(w.last, "its tags are v0.11.0") // the mirror still has it

	inline := strings.Replace(templatedText[strings.Index(templatedText, "---\n")+4:], "templatesRef: {name: pinned, namespace: claudie}", "templates: {repository: '"+templatesURL+"', path: a, tag: v0.9.9}", 1)
	if found := w.findings(inline); !strings.HasPrefix(found, "dev/edge.yaml:6: InputManifest/edge: v0.9.9 is not in the repository") {
		t.Errorf("templates in a manifest: %s", found)
	}
	if found := w.findings(strings.Replace(templatedText, "templatesRef: {name: pinned, namespace: claudie}", "", 1)); found != "" {
		t.Errorf("templates that nothing uses: %s", found)
	}
	capi := strings.Replace(templatedText, "annotations: {", "annotations: {fairlead.io/executor: capi, ", 1)
	if found := w.findings(capi); found != "" {
		t.Errorf("templates that Cluster API does not use: %s", found)
	}
}

// TestTemplateHashes: the lock has the hash of the commit that names templates, and follows a branch that moves.
// What was recorded is rendered again with the hash that was recorded.
func TestTemplateHashes(t *testing.T) {
	w := newTemplateWorld(t, func(s *gittest.Server) string { return s.URL("templates") })
	lockOf := func(r source.Rendered) string {
		e, _ := r.Tree.Lookup("clusters/claudie/fleet-edge/lock.yaml")
		_, after, _ := strings.Cut(string(e.Data), "templates:\n")
		first, _, _ := strings.Cut(after, "\n")
		return strings.TrimSpace(first)
	}
	const place = "hetzner-1: github.com/berops/claudie-config/a@"
	for commit, want := range map[string]string{"v0.11.0": "v0.11.0 (" + w.first + ")", "main": "main (" + w.last + ")", w.first: w.first} {
		if found := w.findings(strings.ReplaceAll(templatedText, "COMMIT", commit)); found != "" {
			t.Errorf("%s: %s", commit, found)
		}
		if got := lockOf(w.render(source.Revisions{})); got != place+want {
			t.Errorf("%s: the lock has %q, want %q", commit, got, place+want)
		}
	}
	w.findings(strings.ReplaceAll(templatedText, "COMMIT", "main"))
	before := w.render(source.Revisions{})
	moved := w.push("templates", "main", map[string]string{"a/b.tpl": "three\n"})
	if err := w.source.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := lockOf(w.render(source.Revisions{})); got != place+"main ("+moved+")" {
		t.Errorf("after main has moved, the lock has %q", got)
	}
	again := w.render(recordedOf(before))
	if again.Tree.ID() != before.Tree.ID() || len(again.Commits) != len(before.Commits) {
		t.Errorf("at the recorded commits it is another output: %v, and not %v", again.Commits, before.Commits)
	}
}

// TestTemplatesUnread: a repository of templates that cannot be read is a warning, and one that does not exist
// a problem; what was recorded is rendered again without it.
func TestTemplatesUnread(t *testing.T) {
	text := strings.ReplaceAll(templatedText, "COMMIT", "v9.9.9")
	private := strings.Replace(text, "  commit:", "  auth: {secretRef: {name: token, namespace: fleet}}\n  commit:", 1)
	missing := newTemplateWorld(t, func(s *gittest.Server) string { return s.URL("nowhere") })
	if found := missing.findings(text); !strings.Contains(found, "there is no repository at") || !missing.render(source.Revisions{}).Problems.Stops() {
		t.Errorf("a repository that does not exist: %s", found)
	}
	if found := missing.findings(private); !strings.HasPrefix(found, "warning: ") || !strings.Contains(found, "cannot be read") {
		t.Errorf("a repository that Claudie has credentials for: %s", found)
	}
	down := newTemplateWorld(t, func(*gittest.Server) string { return "http://127.0.0.1:1/templates" })
	if found := down.findings(text); !strings.HasPrefix(found, "warning: ") || !strings.Contains(found, "cannot be read") {
		t.Errorf("a server that is down: %s", found)
	}
	rendered := down.render(source.Revisions{})
	if rendered.Problems.Stops() || rendered.Tree.IsEmpty() {
		t.Errorf("a server that is down stops the environment: %v", rendered.Problems)
	}
	if again := down.render(recordedOf(rendered)); again.Tree.ID() != rendered.Tree.ID() {
		t.Error("at the recorded commits it is another output")
	}
	elsewhere := newTemplateWorld(t, func(s *gittest.Server) string { return s.URL("templates") })
	if found := elsewhere.findings(strings.ReplaceAll(text, "github.com/berops", "gitlab.com/berops")); found != "" {
		t.Errorf("a server that Fairlead was not told of: %s", found)
	}
}
