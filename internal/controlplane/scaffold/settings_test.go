package scaffold_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	compare "github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
	"github.com/fairlead-io/fairlead/templates"
)

// TestSettings has the daemon read the settings, strictly, and say what it
// understood.
func TestSettings(t *testing.T) {
	for _, o := range []scaffold.Options{
		options(nil),
		options(func(o *scaffold.Options) { o.ControlPlane = `/srv/git/it's: "ours" #1` }),
	} {
		for _, want := range daemons {
			text, err := scaffold.SettingsFile(o, want)
			if err != nil {
				t.Fatal(err)
			}
			s, problems := config.Parse("fairlead.yaml", []byte(text), "/srv", home)
			if len(problems) > 0 {
				t.Fatalf("the settings have problems:\n%s\n%s", golden.Problems(problems), text)
			}
			if diff := compare.Diff(config.ControlPlane{Repo: o.ControlPlane, Branch: "main"}, s.ControlPlane); diff != "" {
				t.Errorf("the control plane is elsewhere (-want +got):\n%s", diff)
			}
			got := scaffold.Daemon{Create: s.Output.Create, Write: s.Write}
			if want.DataDir != "" {
				got.DataDir, got.Listen, got.Interval = s.DataDir, s.Listen, s.Schedule.Interval
			}
			for i, r := range s.Remotes {
				got.Remotes = append(got.Remotes, scaffold.Remote{URL: r.URL, TokenVariable: r.Token.Env, Username: want.Remotes[i].Username})
				if want := cmp.Or(want.Remotes[i].Username, "x-access-token"); r.Username != want {
					t.Errorf("the user name for %s is %q, want %q", r.URL, r.Username, want)
				}
			}
			for _, f := range s.Forges {
				got.Forges = append(got.Forges, scaffold.Forge(f))
			}
			if diff := compare.Diff(want, got); diff != "" {
				t.Errorf("the daemon would do something else (-want +got):\n%s\n%s", diff, text)
			}
		}
	}
}

// home gives the environment of a user who has nothing but a home.
func home(variable string) string {
	if variable == "HOME" {
		return "/home/harbor"
	}
	return ""
}

// TestReconcilers: init offers the reconcilers that are built in, and the sample uses the one that
// was chosen for both cluster types.
func TestReconcilers(t *testing.T) {
	m, _ := model.Parse("dev", model.Layer{Kind: model.BuiltIn, Files: templates.Files()})
	var want []string
	for _, template := range m.Templates {
		if template.Type == "reconciler" {
			want = append(want, template.Name)
		}
	}
	got := scaffold.Reconcilers()
	slices.Sort(want)
	slices.Sort(got)
	if diff := compare.Diff(want, got); diff != "" {
		t.Errorf("reconcilers differ (-built in +offered):\n%s", diff)
	}
	for _, name := range got {
		control, _ := branches(t, withReconciler(name))
		if hello, _ := control[0].Files.Lookup("workloads/hello.yaml"); !strings.Contains(string(hello.Data), " and "+map[bool]string{true: "approve", false: ""}[name == "tofu"]) || strings.Contains(string(hello.Data), "moduleapprove") {
			t.Errorf("%s: the keys of the manifests are not a list:\n%s", name, hello.Data)
		}
		m, _, _ := render(control[0], control[1])
		for _, c := range m.ClusterTypes {
			if c.Reconciler != name {
				t.Errorf("%s: the cluster type %s has the reconciler %s", name, c.Name, c.Reconciler)
			}
		}
	}
}
