package model

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// TestFeedMistakes: each mistake of a feed is a problem of the object that has a hint.
func TestFeedMistakes(t *testing.T) {
	for spec, isRight := range map[string]bool{
		"{workload: till}": true,
		`{workload: till, git: {tags: "v*"}, range: "<2"}`:                                                                                                true,
		"{workload: till, image: {repo: ghcr.io/shop/till}, into: {images: till}}":                                                                        true,
		`{workload: till, image: {repo: ghcr.io/shop/till, tags: "^(\\d{8})-", order: numeric}, into: {values: {TAG: tag}}}`:                              true,
		"{workload: till, artifact: {repo: oci://ghcr.io/shop/till}, into: {manifests: {digest: digest}}}":                                                true,
		"{workload: till, chart: {repo: https://charts.example.com, name: till}, into: {manifests: {version: version}}}":                                  true,
		`{workload: till, git: {repo: https://x/y, branch: "{environment}", version: {file: VERSION}}, range: "<2", into: {manifests: {commit: commit}}}`: true,
		"{workload: till, into: {manifests: {commit: commit}}}":                                                                                           false,
		"{workload: till, git: {branch: main}}":                                                                                                           false,
		"{workload: till, git: {repo: https://x/y}, into: {manifests: {commit: commit}}}":                                                                 false,
		`{workload: till, git: {repo: https://x/y, branch: main, tags: "v*"}, into: {manifests: {commit: commit}}}`:                                       false,
		"{workload: till, git: {repo: https://x/y, branch: main}}":                                                                                        false,
		`{workload: till, git: {repo: https://x/y, branch: "{environment}"}, range: "<2", into: {manifests: {commit: commit}}}`:                           false,
		`{workload: till, git: {repo: https://x/y, branch: "{environment}"}, into: {manifests: {commit: commit}}}`:                                        false,
		"{workload: till, git: {repo: https://x/y, branch: main, version: {file: V, trailer: V}}, into: {manifests: {commit: commit}}}":                   false,
		"{workload: till, image: {repo: a/b}, chart: {repo: https://x, name: y}, into: {images: till}}":                                                   false,
		"{workload: till, image: {repo: https://ghcr.io/shop/till}, into: {images: till}}":                                                                false,
		`{workload: till, image: {repo: a/b, tags: "("}, into: {images: till}}`:                                                                           false,
		"{workload: till, image: {repo: a/b, order: newest}, into: {images: till}}":                                                                       false,
		`{workload: till, image: {repo: a/b, order: numeric}, range: "<2", into: {images: till}}`:                                                         false,
		`{workload: till, image: {repo: a/b}, range: "one", into: {images: till}}`:                                                                        false,
		"{workload: till, image: {repo: a/b}, into: {manifests: {commit: commit}}}":                                                                       false,
		"{workload: till, artifact: {repo: a/b}, into: {images: till}}":                                                                                   false,
		"{workload: till, chart: {repo: ftp://x, name: y}, into: {manifests: {version: version}}}":                                                        false,
		"{workload: till, chart: {repo: https://user:secret@x, name: y}, into: {manifests: {version: version}}}":                                          false,
		"{workload: till, chart: {repo: https://x}, into: {manifests: {version: version}}}":                                                               false,
	} {
		text := "apiVersion: fairlead.io/v1alpha1\nkind: Feed\nmetadata: {name: till}\nspec: " + spec + "\n"
		files, err := tree.FromFiles(map[string][]byte{"feed.yaml": []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		read := NewParser().Progress("main", Layer{Kind: Base, Name: "main", Files: files})
		if read.Problems.Stops() == isRight {
			t.Errorf("%s: %v", spec, read.Problems)
		}
		for _, p := range read.Problems {
			if p.Subject != "Feed/till" || p.Pos.File != "feed.yaml" || strings.Contains(p.String(), "secret") {
				t.Errorf("%s: %v", spec, p)
			}
		}
	}
}

// TestTagOrders: tags are compared as the order says, whole versions only, and the greatest that is not left out is the newest.
func TestTagOrders(t *testing.T) {
	for _, c := range []struct {
		expression, order, within, tags, leftOut, want string
	}{
		{"", "", "", "1.4 latest 1.4.2 1.10.0 2.0.0-rc.1 2", "", "1.10.0"},
		{"", "", "", "1.4.2 1.10.0", "1.10.0", "1.4.2"},
		{"", "", "<1.10", "1.4.2 1.10.0", "", "1.4.2"},
		{`^v(.*)-alpine$`, "", "", "v1.2.3-alpine v1.3.0 v1.2.10-alpine", "", "v1.2.10-alpine"},
		{`^(\d{8})-[0-9a-f]{7}$`, "numeric", "", "20261120-3f1c0de 20261119-ffffffe 20261121-x", "", "20261120-3f1c0de"},
		{"", "numeric", "", "9 10 007 x", "", "10"},
		{`^r`, "alphabetical", "", "r-a r-c r-b z", "", "r-c"},
	} {
		tags, err := NewTagOrder(c.expression, TagOrder(c.order), c.within)
		if err != nil {
			t.Fatal(err)
		}
		if got := tags.Newest(strings.Fields(c.tags), func(tag string) bool { return tag == c.leftOut }); got != c.want {
			t.Errorf("%q %s %s of %s: %q, want %q", c.expression, c.order, c.within, c.tags, got, c.want)
		}
	}
}
