package scaffold_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
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
			if diff := cmp.Diff(config.ControlPlane{Repo: o.ControlPlane, Branch: "main"}, s.ControlPlane); diff != "" {
				t.Errorf("the control plane is elsewhere (-want +got):\n%s", diff)
			}
			got := scaffold.Daemon{Create: s.Output.Create, Write: s.Write}
			if want.DataDir != "" {
				got.DataDir, got.Listen, got.Interval = s.DataDir, s.Listen, s.Schedule.Interval
			}
			if diff := cmp.Diff(want, got); diff != "" {
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
