package scaffold_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

func TestCheck(t *testing.T) {
	environments := func(names ...string) func(*scaffold.Options) {
		return func(o *scaffold.Options) { o.Environments = names }
	}
	place := func(place string) func(*scaffold.Options) {
		return func(o *scaffold.Options) { o.ControlPlane = place }
	}
	const token = "the URL of the control plane has a password or token in it, which would be written into files"
	for _, c := range []struct {
		name   string
		change func(*scaffold.Options)
		want   []string // the lines of the problems, without hints
	}{
		{"nothing but places", nil, nil},
		{"environments", environments("dev", "eu-west-1", "9"), nil},
		{"ssh", place("ssh://git@github.com/harbor-example/control-plane"), nil},
		{"scp", place("git@github.com:harbor-example/control-plane"), nil},
		{"a path", place("/srv/git/control plane.git"), nil},
		{"file", place("file:///srv/git/control-plane"), nil},
		{"empty name", environments(""), []string{`Environment/: "" cannot be the name of an environment`}},
		{"upper case", environments("Dev"), []string{`Environment/Dev: "Dev" cannot be the name of an environment`}},
		{"dots", environments("dev.eu"), []string{`Environment/dev.eu: "dev.eu" cannot be the name of an environment`}},
		{"a path for a name", environments("../dev"), []string{`Environment/../dev: "../dev" cannot be the name of an environment`}},
		{"a flag for a name", environments("-dev"), []string{`Environment/-dev: "-dev" cannot be the name of an environment`}},
		{"dash at the end", environments("dev-"), []string{`Environment/dev-: "dev-" cannot be the name of an environment`}},
		{"long name", environments(strings.Repeat("e", 41)), []string{"Environment/" + strings.Repeat("e", 41) + ": the name is 41 characters long, and 40 is the limit"}},
		{"main", environments("dev", "main"), []string{"Environment/main: main is the branch that all environments share, and cannot be an environment"}},
		{"change", environments("change"), []string{`Environment/change: an environment cannot have the name "change": Git has no branch fairlead/change beside fairlead/change/…, which Fairlead proposes other changes from`}},
		{"fairlead", environments("fairlead"), []string{"Environment/fairlead: Git cannot have a branch fairlead beside fairlead/<environment>, where pull requests come from"}},
		{"the same name again", environments("dev", "stage", "dev"), []string{"Environment/dev: the environment is named twice"}},
		{"several", environments("main", "Dev"), []string{
			`Environment/Dev: "Dev" cannot be the name of an environment`,
			"Environment/main: main is the branch that all environments share, and cannot be an environment",
		}},
		{"no places", func(o *scaffold.Options) { o.ControlPlane, o.GitOps = "", " " }, []string{
			"the location of the GitOps repository is missing", "the location of the control plane is missing",
		}},
		{"one place", func(o *scaffold.Options) { o.GitOps = o.ControlPlane }, []string{"the control plane and the GitOps repository are the same"}},
		{"two lines", place("a\nb"), []string{`"a\nb" cannot be the location of the control plane`}},
		{"a flag for a place", place("--upload-pack=x"), []string{`"--upload-pack=x" cannot be the location of the control plane`}},
		{"a password", place("https://me:secret@github.com/harbor-example/control-plane"), []string{token}},
		{"a token", place("https://secret@github.com/harbor-example/control-plane"), []string{token}},
		{"a password for ssh", place("ssh://git:secret@github.com/harbor-example/control-plane"), []string{token}},
		{"a password in what is no URL", place("https://me:sec%ret@github.com/harbor-example"), []string{token}},
		{"a reconciler", func(o *scaffold.Options) { o.Reconciler = "flux-helm" }, nil},
		{"a reconciler that is not built in", func(o *scaffold.Options) { o.Reconciler = "fluxx" }, []string{`there is no built-in reconciler "fluxx"`}},
		{"a layout that there is not", func(o *scaffold.Options) { o.Layout = 7 }, []string{"there is no layout 7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(c.change)
			var got []string
			for _, p := range o.Problems() {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
			if text := golden.Problems(o.Problems()); strings.Contains(text, "secret") || strings.Contains(text, "sec%ret") {
				t.Errorf("a secret is shown:\n%s", text)
			}
			wantErr := strings.Join(c.want, "; ")
			_, errControl := scaffold.ControlPlaneBranches(o)
			_, errOutput := scaffold.GitOpsBranches(o)
			_, errSettings := scaffold.SettingsFile(o, scaffold.Daemon{})
			for _, err := range []error{errControl, errOutput, errSettings} {
				if err == nil && wantErr != "" || err != nil && err.Error() != wantErr {
					t.Errorf("the error is %v, want %q", err, wantErr)
				}
			}
		})
	}
}
