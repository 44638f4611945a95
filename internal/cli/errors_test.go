package cli

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// TestErrors: each class of errors has its exit code and its text, which goes to standard error
// alone, however the error is wrapped.
func TestErrors(t *testing.T) {
	list := problem.List{{Pos: problem.Pos{Layer: "base", File: "a.yaml", Line: 3}, Subject: "ClusterType/large", Summary: "it has no template", Hint: "name one"}}
	const problemText = "error: base/a.yaml:3: ClusterType/large: it has no template\n  hint: name one\n"
	plain := errors.New("the disk is full")
	for _, test := range []struct {
		name    string
		err     error
		code    int
		printed string
	}{
		{"none", nil, exitOK, ""},
		{"failure", plain, exitFailed, "fairlead: error: the disk is full\n"},
		{"hint", problem.WithHint(plain, "make room"), exitFailed, "fairlead: error: the disk is full\nfairlead: hint: make room\n"},
		{"outer hint", problem.WithHint(problem.WithHint(plain, "make room"), "buy a disk"), exitFailed, "fairlead: error: the disk is full\nfairlead: hint: buy a disk\n"},
		{"usage", usageErrorf("name one", "%s has no name", "-e"), exitUsage, "fairlead: error: -e has no name\nfairlead: hint: name one\n"},
		{"usage without a hint", usageErrorf("", "-e has no name"), exitUsage, "fairlead: error: -e has no name\n"},
		{"wrapped usage", fmt.Errorf("start: %w", usageErrorf("name one", "no name")), exitUsage, "fairlead: error: start: no name\nfairlead: hint: name one\n"},
		{"usage with another hint", problem.WithHint(usageErrorf("name one", "no name"), "or two"), exitUsage, "fairlead: error: no name\nfairlead: hint: or two\n"},
		{"a branch that is not there", fmt.Errorf("nope in .: %w", git.ErrNoRevision), exitFailed, "fairlead: error: nope in .: no such revision\nfairlead: hint: check the name, and that it was pushed\n"},
		{"query", &explain.QueryError{Summary: "there is no workload x", Hint: "there is y"}, exitUsage, "fairlead: error: there is no workload x\nfairlead: hint: there is y\n"},
		{"problems", newProblemsError(list), exitProblems, problemText + "fairlead: error: the control plane has 1 problem\n"},
		{"problems and a failure", errors.Join(plain, newProblemsError(list)), exitProblems, problemText + "fairlead: error: the disk is full\nfairlead: error: the control plane has 1 problem\n"},
		{"problems of settings", &problemsError{"the settings have 1 problem", list, true}, exitUsage, problemText + "fairlead: error: the settings have 1 problem\n"},
		{"differences", fmt.Errorf("compare: %w", errDiffers), exitDifferences, ""},
		{"several failures", errors.Join(plain, errors.New("so is the other")), exitFailed, "fairlead: error: the disk is full\nfairlead: error: so is the other\n"},
		{"control characters", errors.New("bad\x1b[2Jname"), exitFailed, "fairlead: error: bad\ufffd[2Jname\n"},
		{"unreachable", fmt.Errorf("fetch: %w", git.ErrUnreachable), exitFailed, "fairlead: error: fetch: " + git.ErrUnreachable.Error() + "\nfairlead: hint: --map URL=PATH reads it elsewhere, such as in a clone\n"},
		{"elsewhere", withLocationHint(git.ErrNotFound, "--repo names it"), exitFailed, "fairlead: error: " + git.ErrNotFound.Error() + "\nfairlead: hint: --repo names it\n"},
		{"not elsewhere", withLocationHint(plain, "--repo names it"), exitFailed, "fairlead: error: the disk is full\n"},
		{"unknown name", newUnknownError("kind", "Foo", []string{"Bar", "Baz"}), exitUsage, "fairlead: error: there is no kind Foo\nfairlead: hint: the kinds are Bar and Baz\n"},
		{"misspelled name", newUnknownError("environment", "stagge", []string{"stage", "prod"}), exitUsage, "fairlead: error: there is no environment stagge\nfairlead: hint: " + problem.DidYouMean("stagge", []string{"stage"}) + "\n"},
		{"name of nothing", newUnknownError("environment", "dev", nil), exitUsage, "fairlead: error: there is no environment dev: this control plane has none\nfairlead: hint: a control plane has objects of kind Environment in .environments/ of its base; in another folder, name it with --control-plane\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			a := &app{stdout: display.NewStream(&stdout), stderr: display.NewStream(&stderr)}
			a.reportError(test.err)
			if code := exitCode(test.err); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if stdout.Len() > 0 || stderr.String() != test.printed {
				t.Errorf("stdout %q, stderr\n%s\nwant\n%s", stdout.String(), stderr.String(), test.printed)
			}
		})
	}
}

// TestPrintValue: a value goes to standard output alone, in each format.
func TestPrintValue(t *testing.T) {
	value := map[string]any{"name": "dev", "commits": []string{"<1>"}}
	for format, wanted := range map[string]string{
		"text": "it is dev\n",
		"wide": "it is dev\n",
		"name": "dev\n",
		"json": "{\n  \"commits\": [\n    \"<1>\"\n  ],\n  \"name\": \"dev\"\n}\n",
		"yaml": "commits:\n  - <1>\nname: dev\n",
	} {
		var stdout, stderr bytes.Buffer
		a := &app{stdout: display.NewStream(&stdout), stderr: display.NewStream(&stderr), format: format}
		err := a.printValue(value, []string{"dev"}, func() string { return "it is dev\n" })
		if err != nil || stdout.String() != wanted || stderr.Len() > 0 {
			t.Errorf("%s: %v, stderr %q, stdout\n%s\nwant\n%s", format, err, stderr.String(), stdout.String(), wanted)
		}
		if format == "json" || format == "yaml" {
			if err := a.printValue(func() {}, nil, nil); err == nil {
				t.Errorf("%s: a value that cannot be encoded is no error", format)
			}
		}
	}
}
