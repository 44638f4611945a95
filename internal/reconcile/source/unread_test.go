package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

const (
	aHold   = "apiVersion: fairlead.io/v1alpha1\nkind: Hold\nmetadata: {name: hold}\nspec: {reason: x}\n"
	aFreeze = "apiVersion: fairlead.io/v1alpha1\nkind: Freeze\nmetadata: {name: q4}\nspec: {reason: x}\n"
)

// unreadCheck are files that people may have written as a hold or a freeze: on the branch of
// an environment, or in the base. "" is that they count, anything else is the problem.
var unreadCheck = map[string]struct{ branch, file, text, want string }{
	"hold":             {"dev", ".fairlead/hold.yaml", aHold, ""},
	"hold of any name": {"dev", ".fairlead/stay/put.yml", aHold, ""},
	"hold elsewhere":   {"dev", "ops/stay.yaml", aHold, ""},
	"freeze":           {"main", ".fairlead/freezes/q4.yaml", aFreeze, ""},
	"freeze elsewhere": {"main", "ops/q4.yaml", aFreeze, ""},
	"readme":           {"dev", ".fairlead/README.md", "what is here", ""},
	"owners":           {"main", ".fairlead/CODEOWNERS", "* @acme/sre", ""},
	"schema":           {"main", ".fairlead/schema.json", "{}", ""},
	"git keeps it":     {"main", ".fairlead/freezes/.gitkeep", "", ""},

	"broken":               {"dev", ".fairlead/hold.yaml", "apiVersion: [", "not YAML"},
	"no reason":            {"dev", ".fairlead/hold.yaml", strings.Replace(aHold, "reason: x", "", 1), "spec.reason is required"},
	"unknown kind":         {"dev", ".fairlead/hold.yaml", strings.Replace(aHold, "Hold", "Hodl", 1), "unknown kind Hodl"},
	"other version":        {"dev", ".fairlead/hold.yaml", strings.Replace(aHold, "v1alpha1", "v1", 1), "unknown apiVersion fairlead.io/v1"},
	"hold.YAML":            {"dev", ".fairlead/hold.YAML", aHold, "hold.YAML: it is not read"},
	"Hold.Yaml":            {"dev", ".fairlead/Hold.Yaml", aHold, "Hold.Yaml: it is not read"},
	"hold.json":            {"dev", ".fairlead/hold.json", "{}", "hold.json: it is not read"},
	"no extension":         {"dev", ".fairlead/hold", aHold, "fairlead/hold: it is not read"},
	"hidden":               {"dev", ".fairlead/.hold", aHold, "it is not read"},
	"backup":               {"dev", ".fairlead/hold.yaml.bak", aHold, "it is not read"},
	"other name":           {"dev", ".fairlead/stay.YML", aHold, "stay.YML: it is not read"},
	"beside":               {"dev", "hold.yml.txt", aHold, "it is not read"},
	"empty":                {"dev", ".fairlead/hold.yaml", "# hold\n", "there is no Hold and no Freeze in it"},
	"empty hold.yml":       {"dev", ".fairlead/hold.yml", "", "hold.yml: there is no Hold"},
	"empty Hold.yaml":      {"dev", ".fairlead/Hold.yaml", "", "Hold.yaml: there is no Hold"},
	"empty HOLD.yml":       {"dev", ".fairlead/HOLD.yml", "", "HOLD.yml: there is no Hold"},
	"empty freeze.yml":     {"main", ".fairlead/freeze.yml", "", "freeze.yml: there is no Hold"},
	"folder of the name":   {"dev", ".fairlead/hold.yaml/README.md", "", "hold.yaml: it is a folder"},
	"something else":       {"dev", ".fairlead/hold.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n", "there is no Hold and no Freeze in it"},
	"other folder":         {"dev", ".Fairlead/hold.yaml", aHold, ".Fairlead is not the folder .fairlead"},
	"folder is a file":     {"dev", ".fairlead", aHold, ".fairlead is not the folder .fairlead"},
	"kustomization":        {"dev", ".fairlead/kustomization.yaml", "resources: []\n", "a kustomization decides here"},
	"scope":                {"dev", ".fairlead/hold.yaml", strings.Replace(aHold, "reason: x", "reason: x, scope: promotions", 1), `scope cannot be "promotions"`},
	"link":                 {"dev", ".fairlead/hold.yaml", "-> ../stay.yaml", "links are not followed"},
	"link of any name":     {"dev", ".fairlead/stay", "-> ../stay.yaml", "links are not followed"},
	"link beside":          {"dev", "hold.yaml", "-> stay/hold.yaml", "links are not followed"},
	"folder is a link":     {"dev", ".fairlead", "-> ops", ".fairlead is not the folder .fairlead"},
	"holds folder":         {"dev", ".fairlead/holds/q4.yaml", aHold, ""},
	"holds.json":           {"dev", ".fairlead/holds/q4.json", "{}", "q4.json: it is not read"},
	"holds without a dot":  {"dev", ".fairlead/holds/q4", aHold, "holds/q4: it is not read"},
	"Freezes":              {"main", ".fairlead/Freezes/q4.json", "{}", "q4.json: it is not read"},
	"empty hold in holds":  {"dev", ".fairlead/holds/q4.yaml", "\n", "there is no Hold"},
	"git keeps holds":      {"dev", ".fairlead/holds/.gitkeep", "", ""},
	"without a dot":        {"dev", "fairlead/hold.yaml", aHold, ""},
	"no dot and not read":  {"dev", "fairlead/hold.YAML", aHold, "fairlead is not the folder .fairlead"},
	"no dot of others":     {"dev", "fairlead/notes.txt", "x", ""},
	"many":                 {"dev", ".fairleads/hold.yaml", aHold, ""},
	"_fairlead":            {"main", "_fairlead/freezes/q4.json", "{}", "_fairlead is not the folder .fairlead"},
	"freeze of a branch":   {"dev", ".fairlead/freezes/q4.yaml", aFreeze, "a Freeze on an environment's branch freezes nothing"},
	"freeze as a hold":     {"dev", ".fairlead/hold.yaml", aFreeze, "a Freeze on an environment's branch freezes nothing"},
	"hold in the base":     {"main", ".fairlead/hold.yaml", aHold, "a Hold in the base holds no environment"},
	"list in the base":     {"main", "clusters.yaml", aList, "a ClusterList in the base is of no environment"},
	"list of clusters":     {"dev", "clusters.yaml", aList, ""},
	"listed twice":         {"dev", ".fairlead/clusters/east.yaml", strings.Replace(aList, "[", "[{name: east-1, type: small}, ", 1), "the cluster east-1 is listed twice"},
	"broken freeze":        {"main", ".fairlead/freezes/q4.yaml", "apiVersion: [", "not YAML"},
	"freeze.json":          {"main", ".fairlead/freezes/q4.json", "{}", "q4.json: it is not read"},
	"freeze without a dot": {"main", ".fairlead/freezes/q4", aFreeze, "freezes/q4: it is not read"},
	"empty freeze":         {"main", ".fairlead/freezes/q4.yaml", "\n", "there is no Hold and no Freeze in it"},
	"link to a freeze":     {"main", ".fairlead/freezes/q4.yaml", "-> ../q4.yaml", "links are not followed"},
}

const aList = "apiVersion: fairlead.io/v1alpha1\nkind: ClusterList\nmetadata: {name: east}\nspec: {clusters: [{name: east-1, type: small}]}\n"

// TestUnreadHolds: what people have written as a hold or a freeze counts, or is a problem.
func TestUnreadHolds(t *testing.T) {
	for name, test := range unreadCheck {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]map[string]string{
				"main": {".environments/dev.yaml": object("Environment", "dev", "{controlPlane: {repo: "+dir+", branch: dev, path: .}}")},
				"dev":  {"README.md": "dev"},
			}
			link, isLink := strings.CutPrefix(test.text, "-> ")
			if !isLink {
				files[test.branch][test.file] = test.text
			}
			for _, name := range []string{"main", "dev"} {
				branch(t, dir, name, files[name])
				if isLink && name == test.branch {
					if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, test.file)), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink(link, filepath.Join(dir, test.file)); err != nil {
						t.Fatal(err)
					}
					run(t, dir, "add", "-A")
					run(t, dir, "commit", "-qm", "link")
				}
			}
			s, err := source.Open(t.Context(), source.Options{ControlPlane: dir, Parser: model.NewParser()})
			if err != nil {
				t.Fatal(err)
			}
			base, err := s.Base(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			own, err := s.Branch(t.Context(), "dev")
			if err != nil || own.Repo == nil {
				t.Fatal(err, own)
			}
			read := map[string]*model.Progress{"main": base.Progress, "dev": own.Progress}
			other := map[string]string{"main": "dev", "dev": "main"}[test.branch]
			if all := read[other].Problems; len(all) > 0 {
				t.Errorf("%s has problems: %v", other, all)
			}
			wantUnread(t, read[test.branch], test.file, test.text, test.want)
		})
	}
}

func wantUnread(t *testing.T, p *model.Progress, file, text, want string) {
	t.Helper()
	var all []string
	for _, p := range p.Problems {
		if !p.Warning {
			all = append(all, problem.List{p}[0].String())
		}
	}
	said := strings.Join(all, "\n")
	switch {
	case want == "" && said != "":
		t.Errorf("%s is a problem: %s", file, said)
	case want == "" && strings.Contains(text, "kind:") && len(p.Holds)+len(p.Freezes)+len(p.Clusters) != 1:
		t.Errorf("%s does not count", file)
	case !strings.Contains(said, want):
		t.Errorf("the problems are %q, want %q", said, want)
	}
}

// TestMisplacedHolds: where environments have folders, a hold or a freeze outside of them is
// a problem, unless it is another's, or in the base.
func TestMisplacedHolds(t *testing.T) {
	const nothing = "above the environment's folder"
	tests := map[string]struct{ branch, file, text, others, want string }{
		"in the folder":                  {"live", "fleet/dev/.fairlead/hold.yaml", aHold, "", ""},
		"above":                          {"live", ".fairlead/hold.yaml", aHold, "", "a Hold " + nothing},
		"just above":                     {"live", "fleet/.fairlead/stay.yaml", aHold, "", "a Hold " + nothing},
		"freeze above":                   {"live", ".fairlead/freezes/q4.yaml", aFreeze, "", "a Freeze " + nothing},
		"above, and another's":           {"live", ".fairlead/hold.yaml", aHold, ".", ""},
		"just above, and another's":      {"live", "fleet/.fairlead/hold.yaml", aHold, "./fleet", ""},
		"above two":                      {"live", ".fairlead/hold.yaml", aHold, "fleet", "a Hold " + nothing},
		"freeze in a folder":             {"live", "fleet/dev/.fairlead/freezes/q4.yaml", aFreeze, "", "freezes nothing"},
		"in the folder of the base":      {"main", "fleet/dev/.fairlead/hold.yaml", aHold, "", ""},
		"freeze in the base":             {"main", ".fairlead/freezes/q4.yaml", aFreeze, "", ""},
		"freeze in a folder of the base": {"main", "fleet/dev/.fairlead/freezes/q4.yaml", aFreeze, "", ""},
		"hold.YAML above":                {"live", ".fairlead/hold.YAML", aHold, "", "hold.YAML: it is not read"},
		"hold.json just above":           {"live", "fleet/.fairlead/hold.json", "{}", "", "hold.json: it is not read"},
		"hold above":                     {"live", ".fairlead/hold", aHold, "", "hold: it is not read"},
		"empty hold above":               {"live", ".fairlead/hold.yaml", "", "", "there is no Hold"},
		"broken hold above":              {"live", ".fairlead/hold.yaml", "apiVersion: [", "", "there is no Hold"},
		"other folder above":             {"live", ".Fairlead/hold.yaml", aHold, "", ".Fairlead is not the folder .fairlead"},
		"holds above":                    {"live", ".fairlead/holds/q4.yaml", aHold, "", "a Hold " + nothing},
		"no folder above":                {"live", "hold.yaml", aHold, "", "a Hold " + nothing},
		"hold.YAML above another's":      {"live", ".fairlead/hold.YAML", aHold, ".", ""},
		"readme above":                   {"live", ".fairlead/README.md", "what is here", "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			at := "{controlPlane: {repo: " + dir + ", branch: " + test.branch + ", path: "
			files := map[string]map[string]string{
				"main": {".environments/dev.yaml": object("Environment", "dev", at+"./fleet/dev}}")}, "live": {"README.md": "live"},
			}
			if test.others != "" {
				files["main"][".environments/other.yaml"] = object("Environment", "other", at+test.others+"}}")
			}
			files[test.branch]["fleet/dev/README.md"] = "dev"
			files[test.branch][test.file] = test.text
			for _, name := range []string{"main", "live"} {
				branch(t, dir, name, files[name])
			}
			s, err := source.Open(t.Context(), source.Options{ControlPlane: dir, Parser: model.NewParser()})
			if err != nil {
				t.Fatal(err)
			}
			own, err := s.Branch(t.Context(), "dev")
			if err != nil || own.Repo == nil {
				t.Fatal(err, own)
			}
			wantUnread(t, own.Progress, test.file, "", test.want)
		})
	}
}

// TestTimesOfFreezes: a time that cannot be read is a problem that shows how one is written.
func TestTimesOfFreezes(t *testing.T) {
	for text, fine := range map[string]bool{
		"2026-12-24T08:00:00Z": true, "'2026-12-24T08:00:00+01:00'": true, "2026-12-24T08:00:00.5Z": true,
		"2026-12-24": false, "2026-12-24T08:00:00": false, "2026-12-24 08:00:00": false, "2026-12-24T08:00Z": false, "24.12.2026": false, "12/24/2026": false,
		"2026-13-24T08:00:00Z": false, "2026-12-24T25:00:00Z": false, "tomorrow": false, "1798099200": false, "true": false, "[]": false, "{}": false, "''": false, "8h": false,
	} {
		for _, field := range []string{"from", "to"} {
			freeze := strings.Replace(aFreeze, "reason: x", "reason: x, "+field+": "+text, 1)
			files := tree.FromEntries([]tree.Entry{tree.File("q4.yaml", []byte(freeze))})
			read := model.NewParser().Progress("", model.Layer{Kind: model.Base, Name: "base", Files: files})
			if len(read.Freezes) != 1 {
				t.Fatalf("%s: %d freezes", text, len(read.Freezes))
			}
			if fine {
				if len(read.Problems) > 0 {
					t.Errorf("%s: %s: %v", field, text, read.Problems)
				}
				continue
			}
			if len(read.Problems) != 1 || read.Problems[0].Hint != "write it as 2026-12-24T08:00:00Z" || !strings.Contains(read.Problems[0].Summary, "spec."+field+" should be a time with its zone") {
				t.Errorf("%s: %s: %v", field, text, read.Problems)
			}
		}
	}
}
