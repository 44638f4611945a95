package templates_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv2 "gopkg.in/yaml.v2"
)

// zarfPackage has the keys of Zarf's JSON Schema (zarf.dev/v1alpha1, additionalProperties: false) that
// the template writes.
type zarfPackage struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name         string            `yaml:"name"`
		Description  string            `yaml:"description"`
		Version      string            `yaml:"version"`
		Architecture string            `yaml:"architecture"`
		Annotations  map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Components []struct {
		Name      string `yaml:"name"`
		Required  bool   `yaml:"required"`
		Manifests []struct {
			Name           string   `yaml:"name"`
			Namespace      string   `yaml:"namespace"`
			Files          []string `yaml:"files"`
			Kustomizations []string `yaml:"kustomizations"`
		} `yaml:"manifests"`
		Charts []struct {
			Name      string `yaml:"name"`
			Namespace string `yaml:"namespace"`
			URL       string `yaml:"url"`
			Version   string `yaml:"version"`
		} `yaml:"charts"`
		Images []string `yaml:"images"`
	} `yaml:"components"`
}

// zarfName is the pattern of the names of packages and components in that schema.
var zarfName = regexp.MustCompile(`^[a-z0-9][a-z0-9\-]*$`)

// checkZarf stands in for Zarf's JSON Schema, as checkFleet does for Fleet's definition.
func checkZarf(text []byte) []string {
	var p zarfPackage
	if err := yamlv2.UnmarshalStrict(text, &p); err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	if p.APIVersion != "zarf.dev/v1alpha1" || p.Kind != "ZarfPackageConfig" {
		wrong = append(wrong, fmt.Sprintf("%s %s is not Zarf's", p.APIVersion, p.Kind))
	}
	if len(p.Components) != 1 {
		return append(wrong, fmt.Sprintf("there are %d components, and one is wanted", len(p.Components)))
	}
	c := p.Components[0]
	for _, name := range []string{p.Metadata.Name, c.Name} {
		if !zarfName.MatchString(name) {
			wrong = append(wrong, fmt.Sprintf("%q cannot be the name of a package or component", name))
		}
	}
	workloads := len(c.Charts)
	for _, m := range c.Manifests {
		workloads += len(m.Kustomizations)
		if m.Name == "" || m.Namespace == "" {
			wrong = append(wrong, "manifests without a name or a namespace")
		}
	}
	if workloads != 1 {
		wrong = append(wrong, fmt.Sprintf("there are %d charts and kustomizations, and one is wanted", workloads))
	}
	return wrong
}

// TestZarfImages: each line of images is one image, whatever is written in it, and blank lines are
// none. (TestHostile leaves the key out, since a line break adds to the list.)
func TestZarfImages(t *testing.T) {
	bad := []string{"x: y", "- a", "'", "\"", "# comment", "{{ .Namespace }}", "---", "true", "null", "*a", "[x", "ghcr.io/harbor-example/gull:1.2.3"}
	for text, want := range map[string][]string{
		"": nil, " \n\t\n": nil, strings.Join(bad, "\n\n") + "\n": bad,
	} {
		d := sample()
		d.Manifests = map[string]string{"repo": "https://example.com/gull", "branch": "dev", "path": "./main", "images": text}
		got, err := expand(builtIn(t)["zarf"], d)
		if err != nil {
			t.Fatal(err)
		}
		var p zarfPackage
		decode(t, got, &p)
		if diff := cmp.Diff(want, p.Components[0].Images); diff != "" {
			t.Errorf("images of %q: -want +got:\n%s", text, diff)
		}
	}
}
