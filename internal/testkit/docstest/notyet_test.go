package docstest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notYet is what README.md says that does not work yet, with the file and the key in it that will be there when it does.
var notYet = map[string][2]string{
	"versions of images and charts that are promoted by themselves": {"schemas/Feed.json", `"image"`},
	"waves inside an environment":                                   {"schemas/Promotion.json", `"waves"`},
	"delivery through OCI registries":                               {"internal/config/settings.json", `"registry"`},
	"more than one replica":                                         {"deploy/charts/fairlead/values.schema.json", `"replicas"`},
}

// TestNotYet: README.md says of what there is not yet that it is missing, and of nothing that is there.
func TestNotYet(t *testing.T) {
	page, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| not yet \| (.*) \|$`).FindStringSubmatch(string(page))
	if row == nil {
		t.Fatal("README.md has no row of what there is not yet")
	}
	said := strings.Split(row[1], ", ")
	for _, what := range said {
		if _, known := notYet[what]; !known {
			t.Errorf("README.md says that there is not yet %q: say here what will show that there is", what)
		}
	}
	for what, sign := range notYet {
		text, err := os.ReadFile("../../../" + sign[0])
		if err != nil {
			t.Fatal(err)
		}
		if is := strings.Contains(string(text), sign[1]); is == slices.Contains(said, what) {
			t.Errorf("%s: %s has %s: %v; README.md says that there is not yet: %v", what, sign[0], sign[1], is, !is)
		}
	}
}
