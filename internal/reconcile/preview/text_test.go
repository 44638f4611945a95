package preview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// mistakes returns problems at lines of a file of the base, and as many warnings.
func mistakes(problems, warnings int) problem.List {
	var all problem.List
	for i := range problems {
		all.Addf(problem.Pos{Layer: "base", File: "x.yaml", Line: i + 1}, "ConfigMap/x", "mend it", "it is wrong")
	}
	for i := range warnings {
		all.Warnf(problem.Pos{Layer: "base", File: "x.yaml", Line: i + 1}, "ConfigMap/x", "", "it looks wrong")
	}
	return all
}

// changes returns the report of a change of the output.
func changes(t *testing.T) impact.Report {
	t.Helper()
	now, err := tree.FromFiles(map[string][]byte{"cloud/shop/x.yaml": []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")})
	if err != nil {
		t.Fatal(err)
	}
	return impact.Compare(tree.Tree{}, now, impact.Options{})
}

func TestComment(t *testing.T) {
	change := strings.Repeat("b", 40)
	for name, test := range map[string]struct {
		of          environmentPreview
		comment     []string
		outcome     forge.Outcome
		description string
	}{
		"nothing changes":   {environmentPreview{}, []string{"Nothing changes."}, forge.Success, "Nothing that is rendered changes"},
		"something changes": {environmentPreview{report: changes(t)}, []string{"cloud"}, forge.Success, "Changes the output of 1 environment"},
		"problems stop it": {
			environmentPreview{stops: true, problems: mistakes(1, 0), listed: mistakes(1, 0)},
			[]string{"Problems stop it; its output would stay as it is.", "### 1 problem\n\n- base/x.yaml:1: ConfigMap/x: it is wrong (mend it)"}, forge.Failure, "1 problem would come with it"},
		"a warning": {environmentPreview{problems: mistakes(0, 1), listed: mistakes(0, 1)}, []string{"<summary>1 warning</summary>\n\n- base/x.yaml:1"}, forge.Success, "Nothing that is rendered changes"},
		"too many to list": {
			environmentPreview{problems: mistakes(maxProblems+3, 0), listed: mistakes(maxProblems+3, 0)}, []string{"- and 3 more\n"}, forge.Failure, "23 problems would come with it"},
		"at their lines": {environmentPreview{problems: mistakes(2, 0)}, []string{"2 remarks at the lines of this change"}, forge.Failure, "2 problems would come with it"},
		"it exceeds the limits": {
			environmentPreview{exceeding: []publish.Withholding{{Reason: "it removes 9 of 9", ChangeID: change}}},
			[]string{"- it removes 9 of 9", "`fairlead.io/removals: " + change + "`", "fairlead approve dev " + change + " --removals --ahead"}, forge.Success, "Nothing that is rendered changes"},
		"whether it does is not known": {environmentPreview{unknown: true}, []string{"is not known: the GitOps repository cannot be read now."}, forge.Success, "Nothing that is rendered changes"},
		"a stack is stopped": {
			environmentPreview{stopped: []string{"a/b", "a/<c>", "d", "e", "f", "g", "h"}, problems: mistakes(1, 0), listed: mistakes(1, 0), report: changes(t)},
			[]string{"cloud", "Stopped by problems, and would stay as it is: a/b, a/&lt;c&gt;, d, e, f and 2 more\n"}, forge.Failure, "1 problem would come with it"},
		"problems stopped it":     {environmentPreview{mended: true}, []string{"Problems stop it now."}, forge.Success, "No problem stops the environment any more"},
		"a name that is Markdown": {environmentPreview{environment: "<img>"}, []string{"### &lt;img&gt;"}, forge.Success, "Nothing that is rendered changes"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.of.environment == "" {
				test.of.environment = "dev"
			}
			got := commentText(targetBranch{base: true}, []environmentPreview{test.of}, strings.Repeat("a", 40), change)
			for _, want := range append(test.comment, "`fairlead diff aaaaaaaaaaaa bbbbbbbbbbbb`") {
				if !strings.Contains(got, want) {
					t.Errorf("the comment does not have %q:\n%s", want, got)
				}
			}
			if s := commitStatus([]environmentPreview{test.of}); s.Outcome != test.outcome || s.Description != test.description || s.Context != "fairlead/preview" {
				t.Errorf("the status is %+v", s)
			}
		})
	}
}

// TestCommentIsBounded: however much changes in however many environments, the comment fits.
func TestCommentIsBounded(t *testing.T) {
	var all []environmentPreview
	for i := range 200 {
		all = append(all, environmentPreview{environment: fmt.Sprintf("environment-%d", i), report: changes(t)})
	}
	if n := len(commentText(targetBranch{base: true}, all, "", "")); n > maxComment {
		t.Errorf("the comment has %d bytes", n)
	}
}

// TestAnnotations: what is wrong in files of the branch is shown at its line, once though several
// environments have it, and what is wrong elsewhere is not.
func TestAnnotations(t *testing.T) {
	var elsewhere problem.List
	elsewhere.Addf(problem.Pos{Layer: "dev", File: "y.yaml", Line: 1}, "", "", "it is of the environment's branch")
	elsewhere.Addf(problem.Pos{Layer: "base"}, "", "", "it is in no file")
	all := []environmentPreview{{environment: "dev", problems: append(mistakes(1, 1), elsewhere...)}, {environment: "prod", problems: mistakes(1, 0)}}
	want := []forge.Annotation{
		{File: "x.yaml", Line: 1, Text: "ConfigMap/x: it is wrong (mend it)"}, {File: "x.yaml", Line: 1, Text: "ConfigMap/x: it looks wrong", Warning: true},
	}
	if got := (targetBranch{base: true}).listAnnotations(all); !slices.Equal(got, want) {
		t.Errorf("the annotations are %+v, want %+v", got, want)
	}
	if got := (targetBranch{environments: []string{"dev"}}).listAnnotations(all); len(got) != 1 || got[0].File != "y.yaml" {
		t.Errorf("those of the environment's branch are %+v", got)
	}
}

// removal returns the report of a change that removes a target.
func removal(t *testing.T) impact.Report {
	t.Helper()
	side := func(targets ...string) tree.Tree {
		files := map[string][]byte{}
		for _, target := range targets {
			files["cloud/"+target+"/x.yaml"] = []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
		}
		now, err := tree.FromFiles(files)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	return impact.Compare(side("shop", "web"), side("web"), impact.Options{})
}

// TestCommentOfSeveralEnvironments: removals are at the top and in the status, a mistake is listed
// once though several environments have it, and warnings are folded.
func TestCommentOfSeveralEnvironments(t *testing.T) {
	var own problem.List
	own.Addf(problem.Pos{Layer: "base", File: "y.yaml", Line: 2}, "Template/y", "", "it is of prod alone")
	mistaken := func(name string, more problem.List) environmentPreview {
		list := append(mistakes(1, 2), more...)
		return environmentPreview{environment: name, stops: true, problems: list, listed: list}
	}
	got := commentText(targetBranch{base: true}, []environmentPreview{mistaken("dev", nil), mistaken("stage", nil), mistaken("prod", own)}, "", "")
	for text, want := range map[string]int{
		"it is wrong (mend it)\n": 1, "it looks wrong": 2, "it is of prod alone — in prod\n": 1, "### 2 problems\n": 1, "<summary>2 warnings</summary>": 1, "Problems stop it": 3,
	} {
		if have := strings.Count(got, text); have != want {
			t.Errorf("it has %q %d times, want %d:\n%s", text, have, want, got)
		}
	}
	if s := commitStatus([]environmentPreview{mistaken("dev", nil), mistaken("prod", own)}); s.Description != "2 problems would come with it" {
		t.Errorf("the status is %q", s.Description)
	}
	removes := []environmentPreview{{environment: "dev", report: removal(t)}, {environment: "stage", report: changes(t)}, {environment: "prod", report: removal(t)}}
	got = commentText(targetBranch{environments: []string{"dev"}}, removes, strings.Repeat("a", 40), strings.Repeat("b", 40))
	const top = "> [!CAUTION]\n> Merging this deletes things on clusters:\n> - dev: REMOVE shop from cloud\n> - prod: REMOVE shop from cloud\n\n"
	if !strings.HasPrefix(got, top) || !strings.Contains(got, "`fairlead diff dev@aaaaaaaaaaaa dev@bbbbbbbbbbbb`") {
		t.Errorf("the comment is\n%s", got)
	}
	if s := commitStatus(removes); s.Outcome != forge.Success || s.Description != "dev: REMOVE shop from cloud (and in 1 more environment)" {
		t.Errorf("the status is %s, %q", s.Outcome, s.Description)
	}
}
