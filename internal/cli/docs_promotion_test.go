package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// TestPromotionDocs: what docs/reference/promotion.md shows is what is understood.
func TestPromotionDocs(t *testing.T) {
	page := read(t, "../../docs/reference/promotion.md")
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) < 9 {
		t.Fatalf("there are %d examples", len(blocks))
	}
	for _, m := range blocks {
		if strings.Contains(m[1], "kind: ClusterList") { // which docstest reads
			continue
		}
		text := strings.ReplaceAll(m[1], "9f31c07d2c…", "9f31c07d2c")
		if !strings.Contains("\n"+text, "\napiVersion:") { // it is a proof, or a gate that cannot be one
			place := "proof"
			if strings.Contains(text, "distinct: true") {
				place = "gates"
			}
			item := strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ")
			text = "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: main}\nspec:\n  environments:\n  - name: dev\n    " + place + ":\n    - " + item + "\n"
		}
		files, err := tree.FromFiles(map[string][]byte{"a.yaml": []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		p := model.NewParser().Progress("", model.Layer{Kind: model.Base, Name: "base", Files: files})
		problems := p.Problems
		for _, promotion := range p.Promotions {
			for _, s := range promotion.Stages {
				_, _, wrong := gate.CompileStage(s)
				problems = append(problems, wrong...)
			}
		}
		if len(problems) > 0 || len(p.Promotions)+len(p.Freezes)+len(p.Feeds)+min(len(p.Clusters), 1) != 1 {
			t.Errorf("%s\ngives %v", text, problems)
		}
	}
}
