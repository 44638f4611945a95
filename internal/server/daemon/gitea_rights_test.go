package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
)

// TestGiteaWithoutIssues: a token without the scope for issues, comments and labels proposes
// everything, and problems stay what they are, with the reason that the forge was not told.
func TestGiteaWithoutIssues(t *testing.T) {
	for _, promotion := range []string{"external", "managed"} {
		t.Run(promotion, func(t *testing.T) {
			f := newFlow(t, nil, "dev", "prod")
			s := f.server
			token := s.UserToken("weak-"+promotion, "write:repository", "read:user")
			s.Join(f.cp, "weak-"+promotion)
			s.Join(f.out, "weak-"+promotion)
			s.Commit(f.cp, "prod", "cluster-types/more.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterTypo\nmetadata: {name: more}\n")
			text := fmt.Sprintf("controlPlane: {repo: %q}\ndataDir: %q\nlisten: \"\"\nwrite: true\npromotion: %s\nforges: [{host: %q, kind: gitea}]\nremotes: [{url: %q, token: {env: TOKEN}}]\n",
				s.URL+"/"+f.cp+".git", t.TempDir(), promotion, strings.TrimPrefix(s.URL, "http://"), s.URL+"/")
			settings, problems := config.Parse("fairlead.yaml", []byte(text), t.TempDir(), func(string) string { return token })
			if problems.Stops() {
				t.Fatal(problems)
			}
			for range 2 {
				got, err := daemon.RunOnce(t.Context(), daemon.Options{Settings: settings, Version: "test", Log: f.log})
				must(t, err)
				dev, _ := got.FindEnvironment("dev")
				prod, _ := got.FindEnvironment("prod")
				if dev.State != status.Proposed || dev.Pull == nil {
					t.Errorf("dev is %s: %s %s", dev.State, dev.Reason, dev.Error)
				}
				if prod.State != status.Problems || prod.Error != "" || !strings.Contains(prod.Reason, "the forge could not be told") {
					t.Errorf("prod is %s: %s %s", prod.State, prod.Reason, prod.Error)
				}
			}
		})
	}
}
