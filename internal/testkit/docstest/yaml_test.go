package docstest

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
)

// TestYAML: the YAML of every page is taken by what reads it in earnest.
func TestYAML(t *testing.T) {
	clusters, err := crdtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]int{}
	for _, p := range readPages(t) {
		for _, b := range p.blocks {
			if b.language == "yaml" {
				readers[b.checkYAML(t, clusters)]++
			}
		}
	}
	for _, reader := range []string{"settings", "control plane", "cluster", "workflow"} {
		if readers[reader] == 0 {
			t.Errorf("no YAML is for the %s: %v", reader, readers)
		}
	}
}

// TestYAMLNoticed: the checks see mistakes.
func TestYAMLNoticed(t *testing.T) {
	clusters, err := crdtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"# fairlead.yaml\ncontrolPlane: {repo: https://github.com/acme/control-plane}\nwirte: true\n",
		"apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: main}\nspec: {environments: [{name: dev, porof: []}]}\n",
		"apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: main}\nspec: {environments: [{name: dev, gates: [{window: {}, soak: 1h}]}]}\n",
		"apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Provider\nmetadata: {name: a, namespace: b}\nspec: {type: gitbuh}\n",
		"on: push\njobs: {a: {runs-no: ubuntu-latest, steps: []}}\n",
		"a: [\n",
	} {
		b := block{page: "a page", language: "yaml", text: text}
		if _, wrong := b.readYAML(clusters); len(wrong) == 0 {
			t.Errorf("nothing is wrong with\n%s", text)
		}
	}
}

func (b block) checkYAML(t *testing.T, clusters *crdtest.Schemas) (reader string) {
	t.Helper()
	reader, wrong := b.readYAML(clusters)
	for _, w := range wrong {
		t.Errorf("%s:%d: %s: %s", b.page, b.line, reader, w)
	}
	return reader
}

var (
	apiGroup   = regexp.MustCompile(`(?m)^apiVersion: (?:([\w.-]+)/)?v\w+$`)
	secretFile = regexp.MustCompile(`\{file: [^}]*\}`)
	hostFile   = regexp.MustCompile(`(?m)^(\s*knownHosts:|  ssh:|  gpg:) .*$`)
	shortened  = regexp.MustCompile(`([0-9a-f]{8,})…`)
)

// readYAML finds out who reads the block, and returns what that finds wrong.
func (b block) readYAML(clusters *crdtest.Schemas) (reader string, wrong []string) {
	text := shortened.ReplaceAllString(b.text, "$1")
	var value any
	if err := yaml.Unmarshal([]byte(strings.Split(text, "\n---\n")[0]), &value); err != nil {
		return "YAML", []string{err.Error()}
	}
	fields, _ := value.(map[string]any)
	group := apiGroup.FindStringSubmatch(text)
	switch {
	case group != nil && (group[1] == "fairlead.io" || group[1] == "scheduler.kalypso.io"), strings.Contains(text, model.CapacityLabel+":"), strings.Contains(text, model.RequestsLabel+": \"true\""):
		return "control plane", readControlPlane(text)
	case group != nil && (strings.HasSuffix(group[1], ".fluxcd.io") || group[1] == "" || group[1] == "networking.k8s.io"):
		return "cluster", clusters.Check([]byte(text))
	case group == nil && fields["controlPlane"] != nil:
		return "settings", readSettings(text)
	case fields["jobs"] != nil && strings.Contains(text, "\non:") || strings.HasPrefix(text, "on:"):
		return "workflow", readWorkflow(text)
	}
	return "YAML", nil
}

func readSettings(text string) []string {
	text = secretFile.ReplaceAllString(text, "{env: SECRET}")
	text = hostFile.ReplaceAllString(text, "$1 /dev/null")
	_, problems := config.Parse("fairlead.yaml", []byte(text), "/nowhere", func(string) string { return strings.Repeat("hunter2 ", 5) })
	return stopping(problems, "fairlead.yaml")
}

// environmentKinds are the kinds that belong on the branch of an environment.
var environmentKinds = regexp.MustCompile(`(?m)^kind: (ClusterType|SchedulingPolicy|GitOpsRepo|BaseRepo|Hold|Release|Approval|PlanApproval|Ephemeral)$`)

func readControlPlane(text string) []string {
	files, err := tree.FromFiles(map[string][]byte{"page.yaml": []byte(text)})
	if err != nil {
		return []string{err.Error()}
	}
	layer := model.Layer{Kind: model.Base, Name: "main", Files: files}
	if environmentKinds.MatchString(text) {
		layer = model.Layer{Kind: model.Env, Name: "dev", Files: files}
	}
	parser := model.NewParser()
	_, problems := parser.Parse("dev", layer)
	progress := parser.Progress("dev", layer)
	problems = append(problems, progress.Problems...)
	for _, promotion := range progress.Promotions {
		for _, s := range promotion.Stages {
			_, _, more := gate.CompileStage(s)
			problems = append(problems, more...)
		}
	}
	return stopping(problems, "page.yaml")
}

// stopping returns the problems of a file that stop; what it lacks is on other pages.
func stopping(problems problem.List, file string) []string {
	var all []string
	for _, p := range problems {
		if !p.Warning && strings.HasSuffix(p.Pos.File, file) {
			all = append(all, p.String())
		}
	}
	return all
}

func readWorkflow(text string) []string {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	found, err := linter.Lint("workflow.yaml", []byte(text), nil)
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, one := range found {
		all = append(all, one.Error())
	}
	return all
}
