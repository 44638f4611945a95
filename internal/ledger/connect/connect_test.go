package connect_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

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
