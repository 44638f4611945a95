package docstest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notYet is what README.md says that does not work yet, with the file and the key in it that will be there when it does.
var notYet = map[string][2]string{
	"waves inside an environment":     {"schemas/Promotion.json", `"waves"`},
	"delivery through OCI registries": {"internal/config/settings.json", `"registry"`},
	"more than one replica":           {"deploy/charts/fairlead/values.schema.json", `"replicas"`},
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

// pageGuides are the guides that name what people see on the page, in italics.
var pageGuides = []string{"read-the-page.md", "sign-in.md"}

// TestPageWords: what the guides of the page name is on a page.
func TestPageWords(t *testing.T) {
	var shown bytes.Buffer
	for _, pattern := range []string{"page/templates/*.html", "page/*.go", "answer/*.go", "lever/*.go"} {
		files, err := filepath.Glob("../../server/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			shown.Write(bytes.ToLower(text))
		}
	}
	italics := regexp.MustCompile(`(?s)(?:^|[^*\w])\*([A-Za-z][^*\n|]*\n?[^*\n|]*)\*(?:[^*\w]|$)`)
	for _, guide := range pageGuides {
		text, err := os.ReadFile("../../../docs/how-to/" + guide)
		if err != nil {
			t.Fatal(err)
		}
		named := italics.FindAllSubmatch(text, -1)
		if len(named) == 0 {
			t.Errorf("%s names nothing of the page", guide)
		}
		for _, m := range named {
			words := bytes.TrimSuffix(bytes.Join(bytes.Fields(bytes.ToLower(m[1])), []byte(" ")), []byte("…"))
			if !bytes.Contains(shown.Bytes(), words) {
				t.Errorf("%s: no page has %q", guide, m[1])
			}
		}
	}
}
