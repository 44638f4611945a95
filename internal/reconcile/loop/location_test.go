package loop

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// TestCheckAllowed: output goes neither to branches that Fairlead proposes from, nor to where the
// control plane is read, unless the settings name that place.
func TestCheckAllowed(t *testing.T) {
	t.Parallel()
	const out, cp = "https://git.example.com/out", "https://git.example.com/cp"
	allow := func(repo string, branches ...string) []config.Destination {
		return []config.Destination{{Repo: repo, Branches: branches}}
	}
	for name, test := range map[string]struct {
		allow        []config.Destination
		repo, branch string
		want         string // part of the sentence; "" if it may go there
		always       bool
	}{
		"a repository of its own":          {nil, out, "dev", "", false},
		"a branch of ours":                 {nil, out, "Fairlead/dev", "Fairlead proposes changes from branches whose names begin with fairlead/", false},
		"where an ephemeral one is":        {nil, out, "ephemeral/pr-7", "is where an ephemeral environment is", false},
		"the control plane":                {nil, cp, "dev", "the control plane is read from", false},
		"the control plane, named":         {allow(cp, "dev"), cp, "dev", "", false},
		"by a pattern":                     {allow(cp, "*"), cp, "dev", "", false},
		"a branch that is read, by one":    {allow(cp, "*"), cp, "main", "the control plane is read from", false},
		"a branch that is read, literally": {allow(cp, "main"), cp, "main", "", false},
		"another branch than is allowed":   {allow(out, "dev"), out, "prod", "the settings do not let output go to branch prod", true},
		"another repository":               {allow(out, "*"), cp, "dev", "the settings do not let output go to branch dev", true},
		"what the settings read elsewhere": {allow(out, "*"), "https://git.example.com/alias", "dev", "", false},
	} {
		s := &config.Settings{Map: map[string]string{"https://git.example.com/alias": out}}
		s.Output.BranchPrefix, s.Output.Allow = "fairlead/", test.allow
		l := &Loop{options: Options{Settings: s}, remotes: repos.New(t.Context(), repos.Options{Settings: s})}
		taken := reserved{map[string][]giturl.Identity{}, map[string]bool{"main": true}}
		taken.addRepo(cp)
		no := l.checkAllowed(model.RepoRef{Repo: test.repo, Branch: test.branch}, taken)
		switch {
		case no == nil && test.want != "":
			t.Errorf("%s: it may go there, want %q", name, test.want)
		case no != nil && (test.want == "" || !strings.Contains(no.sentence, test.want) || no.always != test.always || no.hint == ""):
			t.Errorf("%s: %+v, want %q", name, no, test.want)
		}
	}
}

// TestAsReported: an environment is published again if a person has closed its pull request, opened
// it again, or opened another.
func TestAsReported(t *testing.T) {
	t.Parallel()
	pull := func(number int, base string) forge.Pull {
		return forge.Pull{Number: number, Proposal: forge.Proposal{Head: "fairlead/dev", Base: base}}
	}
	stranger := forge.Pull{Number: 9, Proposal: forge.Proposal{Head: "theirs", Base: "dev"}}
	for name, test := range map[string]struct {
		state  publish.State
		number int // that was reported; 0 for none
		open   []forge.Pull
		want   bool
	}{
		"as it was":          {publish.Proposed, 7, []forge.Pull{pull(7, "dev"), stranger}, true},
		"closed":             {publish.Proposed, 7, []forge.Pull{stranger}, false},
		"closed, edited":     {publish.Edited, 7, nil, false},
		"another":            {publish.Proposed, 7, []forge.Pull{pull(8, "dev")}, false},
		"two":                {publish.Proposed, 7, []forge.Pull{pull(8, "dev"), pull(7, "dev")}, false},
		"to another branch":  {publish.Proposed, 7, []forge.Pull{pull(7, "main")}, false},
		"still none":         {publish.Edited, 0, []forge.Pull{stranger}, true},
		"none before":        {publish.Edited, 0, []forge.Pull{pull(7, "dev")}, false},
		"still declined":     {publish.Declined, 7, nil, true},
		"opened again":       {publish.Declined, 7, []forge.Pull{pull(7, "dev")}, false},
		"nothing to propose": {publish.InSync, 0, []forge.Pull{pull(7, "dev")}, true},
		"stopped":            {"", 7, []forge.Pull{pull(7, "dev"), pull(8, "main")}, true},
		"stopped, closed":    {"", 7, []forge.Pull{stranger}, false},
		"stopped, another":   {"", 7, []forge.Pull{pull(8, "dev")}, false},
		"stopped, none":      {"", 0, []forge.Pull{pull(8, "main")}, true},
		"stopped, reopened":  {"", 0, []forge.Pull{pull(7, "dev")}, false},
	} {
		o := &outcome{output: model.RepoRef{Branch: "dev"}, result: publish.Result{State: test.state}}
		reported := &o.result.Pull
		if test.state == "" {
			o.problems, reported = problem.List{{Summary: "it is wrong"}}, &o.stale
		}
		if test.number > 0 {
			*reported = &forge.Pull{Number: test.number}
		}
		if got := isAsReported(o, "fairlead/dev", test.open); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
