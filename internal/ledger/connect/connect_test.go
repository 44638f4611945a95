package connect_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/ledger/connect"
	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
)

const image = "registry.acme.example/fairlead-agent:v0.9.0"

// newOptions returns the options of the how-to guides.
func newOptions() connect.Options {
	return connect.Options{
		Cluster: "east-1", Server: "https://fairlead.acme.example", Environment: "dev", ClusterType: "cloud", Object: "fleet", Image: image,
		TokenCommand: "fairlead fleet token east-1",
	}
}

func render(t *testing.T, way connect.Way, o connect.Options) connect.Connection {
	t.Helper()
	c, err := connect.Render(way, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestGuide: the how-to guide has what is rendered, to the letter, and the commands.
func TestGuide(t *testing.T) {
	for way, page := range map[connect.Way]string{connect.Flux: "bootstrap-a-cluster.md", connect.ArgoCD: "bootstrap-a-cluster.md", connect.Agent: "connect-a-cluster.md"} {
		text, err := os.ReadFile("../../../docs/how-to/" + page)
		if err != nil {
			t.Fatal(err)
		}
		c := render(t, way, newOptions())
		if block := "```yaml\n" + string(c.Manifests) + "```\n"; way != connect.Agent && !bytes.Contains(text, []byte(block)) {
			t.Errorf("docs/how-to/%s does not have this:\n%s", page, block)
		}
		for _, command := range c.Commands {
			if !bytes.Contains(text, []byte("\n"+command+"\n")) {
				t.Errorf("docs/how-to/%s does not have this:\n%s", page, command)
			}
		}
	}
}

// newBootstrap returns what the how-to guide bootstraps.
func newBootstrap() connect.Bootstrap {
	o := newOptions()
	o.Server = ""
	return connect.Bootstrap{Options: o, Repo: "https://github.com/acme/gitops", Branch: "dev", Secret: "gitops", Forge: "github"}
}

// TestBootstrapGuide: the how-to guide has what is rendered, to the letter, and the commands.
func TestBootstrapGuide(t *testing.T) {
	text, err := os.ReadFile("../../../docs/how-to/bootstrap-a-cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	c, err := connect.RenderBootstrap(newBootstrap())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"```yaml\n" + string(c.Manifests) + "```\n", "\n" + strings.Join(c.Commands, "\n") + "\n", "\n" + c.Gate + "\n"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("docs/how-to/bootstrap-a-cluster.md does not have this:\n%s", want)
		}
	}
}

// TestBootstrap: an API server accepts what a new cluster applies, and reads names and paths as they are.
func TestBootstrap(t *testing.T) {
	schemas, err := crdtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*connect.Bootstrap)
		want   []string
	}{
		{"a branch", func(b *connect.Bootstrap) { b.Branch = "team/dev" }, []string{"\n    branch: team/dev\n"}},
		{"a branch of digits", func(b *connect.Bootstrap) { b.Branch = "2026" }, []string{"\n    branch: \"2026\"\n"}},
		{"a branch of signs", func(b *connect.Bootstrap) { b.Branch = "a#b" }, []string{"\n    branch: \"a#b\"\n"}},
		{"a folder", func(b *connect.Bootstrap) { b.Folder = "clusters/dev" }, []string{"\n  path: ./clusters/dev/cloud\n"}},
		{"a folder in capitals", func(b *connect.Bootstrap) { b.Folder = "Dev" }, []string{"\n  path: \"./Dev/cloud\"\n"}},
		{"a type of digits", func(b *connect.Bootstrap) { b.Options.ClusterType = "7" }, []string{"\n  path: \"./7\"\n"}},
		{"SSH", func(b *connect.Bootstrap) { b.Repo = "git@github.com:acme/gitops.git" }, []string{"\n  url: ssh://git@github.com/acme/gitops.git\n", "\n  address: https://github.com/acme/gitops\n"}},
		{"SSH on a port", func(b *connect.Bootstrap) { b.Repo = "ssh://git@git.example.com:2222/acme/gitops"; b.Forge = "gitea" }, []string{"\n  url: ssh://git@git.example.com:2222/acme/gitops\n", "\n  address: https://git.example.com/acme/gitops\n"}},
		{"events", func(b *connect.Bootstrap) { b.Options.Server, b.Forge = "https://fairlead.acme.example/", "" }, []string{"\n  address: https://fairlead.acme.example/webhooks/flux/east-1\n"}},
		{"an artifact", func(b *connect.Bootstrap) {
			b.Artifact, b.Options.Server = "oci://localhost:5000/fleet/cloud", "https://fairlead.acme.example"
		}, []string{"kind: OCIRepository\n", "\n  url: oci://localhost:5000/fleet/cloud\n", "\n    tag: dev\n", "\n  path: ./\n"}},
		{"stacks too", func(b *connect.Bootstrap) {
			b.Options.Also, b.Options.Server, b.Forge = []string{"environments"}, "https://fairlead.acme.example/", ""
		}, []string{"\n  name: fleet-environments\n", "\n  path: ./cloud\n---\n", "\n  path: ./environments\n---\n", "\n    - kind: Kustomization\n      name: fleet\n    - kind: Kustomization\n      name: fleet-environments\n"}},
		{"stacks too, and commit statuses", func(b *connect.Bootstrap) { b.Options.Also, b.Folder = []string{"environments"}, "clusters/dev" }, []string{"\n  path: ./clusters/dev/environments\n---\n", "\n    - kind: Kustomization\n      name: fleet\n    - kind: Kustomization\n      name: fleet-environments\n"}},
		{"another object beside", func(b *connect.Bootstrap) {
			b.Options.Object, b.Options.Server, b.Forge = "stacks", "https://fairlead.acme.example/", ""
		}, []string{"kind: Alert\nmetadata:\n  name: fairlead-stacks\n", "kind: Provider\nmetadata:\n  name: fairlead\n"}},
		{"the usual timeout", func(b *connect.Bootstrap) {}, []string{"\n  retryInterval: 30s\n  timeout: 2m\n"}},
		{"another timeout", func(b *connect.Bootstrap) { b.Timeout = 10 * time.Minute }, []string{"\n  timeout: 10m\n"}},
		{"a folder that all may read", func(b *connect.Bootstrap) { b.Secret = "" }, []string{"\n    branch: dev\n---\n"}},
	} {
		b := newBootstrap()
		c.change(&b)
		got, err := connect.RenderBootstrap(b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, wrong := range schemas.Check(got.Manifests) {
			t.Errorf("%s: %s", c.name, wrong)
		}
		for _, want := range c.want {
			if !strings.Contains(string(got.Manifests), want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, got.Manifests)
			}
		}
	}
}

// TestSecretCommand: the commands that store what opens the repository make the Secret that source-controller reads, without
// flux, whatever is in the token.
func TestSecretCommand(t *testing.T) {
	bin := t.TempDir()
	for name, script := range map[string]string{
		"kubectl":     "#!/bin/sh\nfor a in \"$@\"; do echo \"<$a>\"; done\n",
		"ssh-keyscan": "#!/bin/sh\necho \"keys of $*\"\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const token = `a "b" $c 'd' *`
	for name, c := range map[string]struct {
		change func(*connect.Bootstrap)
		want   string
	}{
		"HTTPS": {func(b *connect.Bootstrap) {}, "generic gitops --from-literal=username=git --from-literal=password=" + token},
		"SSH": {func(b *connect.Bootstrap) { b.Repo = "git@github.com:acme/gitops.git" },
			"generic gitops --from-file=identity=/home/me/my key --from-literal=known_hosts=keys of github.com"},
		"SSH on a port": {func(b *connect.Bootstrap) { b.Repo = "ssh://git@git.example.com:2222/acme/gitops"; b.Forge = "gitea" },
			"generic gitops --from-file=identity=/home/me/my key --from-literal=known_hosts=keys of -p 2222 git.example.com"},
		"an artifact": {func(b *connect.Bootstrap) {
			b.Artifact, b.Options.Server = "oci://localhost:5000/fleet/cloud", "https://fairlead.acme.example"
		}, "docker-registry gitops --docker-server=localhost:5000 --docker-username=me --docker-password=" + token},
	} {
		b := newBootstrap()
		c.change(&b)
		got, err := connect.RenderBootstrap(b)
		if err != nil {
			t.Fatal(name, err)
		}
		sh := exec.Command("sh", "-c", got.Commands[0])
		sh.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "READ_TOKEN="+token, "READ_USER=me", "READ_KEY=/home/me/my key")
		out, err := sh.CombinedOutput()
		args := strings.Split(strings.Trim(string(out), "<>\n"), ">\n<")
		if want := "-n flux-system create secret " + c.want; err != nil || strings.Join(args, " ") != want {
			t.Errorf("%s: %v, %q, want %q", name, err, args, want)
		}
	}
}

// TestBootstrapRefused: what would change the structure of a text, or what no cluster can read, is
// refused.
func TestBootstrapRefused(t *testing.T) {
	for name, change := range map[string]func(*connect.Bootstrap){
		"no repository":     func(b *connect.Bootstrap) { b.Repo = "" },
		"a folder":          func(b *connect.Bootstrap) { b.Repo = "/srv/gitops.git" },
		"a password":        func(b *connect.Bootstrap) { b.Repo = "https://me:x@github.com/acme/gitops" },
		"a token":           func(b *connect.Bootstrap) { b.Repo = "https://x@github.com/acme/gitops" },
		"lines":             func(b *connect.Bootstrap) { b.Repo = "https://github.com/acme/gitops\n  x: y" },
		"a command":         func(b *connect.Bootstrap) { b.Repo = "https://github.com/$(rm)" },
		"a comment":         func(b *connect.Bootstrap) { b.Repo = "https://github.com/acme/gitops #" },
		"no branch":         func(b *connect.Bootstrap) { b.Branch = "" },
		"a branch of lines": func(b *connect.Bootstrap) { b.Branch = "a\nb" },
		"a folder above":    func(b *connect.Bootstrap) { b.Folder = "../x" },
		"a secret":          func(b *connect.Bootstrap) { b.Secret = "A b" },
		"no forge":          func(b *connect.Bootstrap) { b.Forge = "" },
		"Git alone":         func(b *connect.Bootstrap) { b.Forge = "git" },
		"a long object":     func(b *connect.Bootstrap) { b.Options.Object = strings.Repeat("a", 250) },
		"a type":            func(b *connect.Bootstrap) { b.Options.ClusterType = "../x" },
		"an artifact": func(b *connect.Bootstrap) {
			b.Artifact, b.Options.Server = "registry.example.com/x", "https://fairlead.acme.example"
		},
		"a folder of lines":  func(b *connect.Bootstrap) { b.Options.Also = []string{"a\nb"} },
		"a short timeout":    func(b *connect.Bootstrap) { b.Timeout = 20 * time.Second },
		"a negative timeout": func(b *connect.Bootstrap) { b.Timeout = -time.Minute },
		"an artifact with stacks": func(b *connect.Bootstrap) {
			b.Artifact, b.Options.Server, b.Options.Also = "oci://registry.example.com/x", "https://fairlead.acme.example", []string{"environments"}
		},
		"a silent artifact":  func(b *connect.Bootstrap) { b.Artifact = "oci://registry.example.com/x" },
		"a server's comment": func(b *connect.Bootstrap) { b.Options.Server = "https://fairlead.example.com/ #" },
	} {
		b := newBootstrap()
		change(&b)
		if c, err := connect.RenderBootstrap(b); err == nil {
			t.Errorf("%s is not refused:\n%s", name, c.Manifests)
		}
	}
}

// TestValid: an API server accepts what is rendered, whatever a cluster and its environment are called,
// and reads the names as they are.
func TestValid(t *testing.T) {
	schemas, err := crdtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"east-1", "7", "1e5", "0x1f", "no", "null", "true", "y", "a.b", "2026-11-23", "1.5", strings.Repeat("a", 63)} {
		o := newOptions()
		o.Cluster, o.Environment, o.ClusterType, o.Object = name, name, name, name
		for _, server := range []string{"https://fairlead.acme.example", "http://10.0.0.1:8080/", "https://[2001:db8::1]:443/fairlead"} {
			o.Server = server
			for _, way := range []connect.Way{connect.Flux, connect.ArgoCD, connect.Agent} {
				c := render(t, way, o)
				for _, wrong := range schemas.Check(c.Manifests) {
					t.Errorf("%s of %s at %s: %s", way, name, server, wrong)
				}
				for what, got := range readNames(t, c) {
					want := name
					if what == "server" {
						want = strings.TrimRight(server, "/")
					}
					if got != want {
						t.Errorf("%s of %s at %s: %s is read as %q", way, name, server, what, got)
					}
				}
			}
		}
	}
}

// readNames returns what a cluster will take the names to be.
func readNames(t *testing.T, c connect.Connection) map[string]string {
	t.Helper()
	var objects []map[string]any
	decoder := yaml.NewDecoder(bytes.NewReader(c.Manifests))
	for {
		var o map[string]any
		if decoder.Decode(&o) != nil {
			break
		}
		objects = append(objects, o)
	}
	text := func(value any) string { s, _ := value.(string); return s }
	found := map[string]string{}
	for _, o := range objects {
		spec, _ := o["spec"].(map[string]any)
		switch o["kind"] {
		case "Provider":
			found["server"], found["cluster in the address"], _ = strings.Cut(text(spec["address"]), "/webhooks/flux/")
		case "Alert":
			for key, value := range spec["eventMetadata"].(map[string]any) {
				found[key] = text(value)
			}
			found["source"] = text(spec["eventSources"].([]any)[0].(map[string]any)["name"])
		case "ConfigMap":
			data := o["data"].(map[string]any)
			if c.Way == connect.Agent {
				found["name"], found["server"] = text(data["name"]), text(data["server"])
				continue
			}
			var service struct{ URL string }
			if err := yaml.Unmarshal([]byte(text(data["service.webhook.fairlead"])), &service); err != nil {
				t.Fatal(err)
			}
			found["server"], found["cluster in the address"], _ = strings.Cut(service.URL, "/webhooks/argocd/")
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no names:\n%s", c.Way, c.Manifests)
	}
	return found
}

// TestAgentImage: an image has a tag, a digest, both or none, and its registry may have a port.
func TestAgentImage(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for _, image := range []string{"fairlead-agent:v1", "fairlead-agent" + digest, "localhost:5000/team/fairlead-agent:v1.0.0-rc.1", "localhost:5000/fairlead-agent" + digest} {
		o := newOptions()
		o.Image = image
		if text := string(render(t, connect.Agent, o).Manifests); !strings.Contains(text, "image: "+image+"\n") {
			t.Errorf("%s is not in\n%s", image, text)
		}
	}
}

// TestRefused: what would change the structure of a text, or cannot be reached, is refused.
func TestRefused(t *testing.T) {
	for name, change := range map[string]func(*connect.Options){
		"no cluster":           func(o *connect.Options) { o.Cluster = "" },
		"a cluster in capital": func(o *connect.Options) { o.Cluster = "East" },
		"a cluster of lines":   func(o *connect.Options) { o.Cluster = "a\nkey: x" },
		"no server":            func(o *connect.Options) { o.Server = "" },
		"no scheme":            func(o *connect.Options) { o.Server = "fairlead.example.com" },
		"another scheme":       func(o *connect.Options) { o.Server = "ssh://fairlead.example.com" },
		"a password":           func(o *connect.Options) { o.Server = "https://me:x@fairlead.example.com" },
		"a query":              func(o *connect.Options) { o.Server = "https://fairlead.example.com?x" },
		"a secret of Argo CD":  func(o *connect.Options) { o.Server = "https://fairlead.example.com/$fairlead-key" },
		"a template":           func(o *connect.Options) { o.Server = "https://fairlead.example.com/{{.app}}" },
		"a comment":            func(o *connect.Options) { o.Server = "https://fairlead.example.com/ #" },
		"an environment":       func(o *connect.Options) { o.Environment = "dev: x" },
		"a type":               func(o *connect.Options) { o.ClusterType = `"` },
		"an object":            func(o *connect.Options) { o.Object = "$(rm)" },
		"an image":             func(o *connect.Options) { o.Image = "x\ny" },
		"a tag":                func(o *connect.Options) { o.Image = "x:{y}" },
		"no image":             func(o *connect.Options) { o.Image = "" },
	} {
		o := newOptions()
		change(&o)
		refused := 0
		for _, way := range []connect.Way{connect.Flux, connect.ArgoCD, connect.Agent} {
			if _, err := connect.Render(way, o); err != nil {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("%s is not refused", name)
		}
	}
}
