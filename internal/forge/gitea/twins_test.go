package gitea_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
)

// TestGiteaTwoPublishers has two publish the same at once, each with a mirror of its own,
// again and again, with a pull request to be opened each time: nothing that they do to each
// other is an error, and after one more cycle there is one open pull request.
func TestGiteaTwoPublishers(t *testing.T) {
	server := giteatest.Share(t)
	token := server.UserToken("fairlead")
	server.Create("acme/twins")
	server.Join("acme/twins", "fairlead")
	people := connect(t, server.URL, "acme/twins", token, forge.Options{})
	var both [2]publish.Options
	for i := range both {
		remote, err := git.NewRemote(git.RemoteOptions{URL: server.Remote("acme/twins"), Dir: filepath.Join(t.TempDir(), "mirror")})
		check(t, err)
		both[i] = publish.Options{
			Remote: remote, Forge: connect(t, server.URL, "acme/twins", token, forge.Options{}), Prefix: "out/",
			Author: git.Signature{Name: "Fairlead", Email: "fairlead@localhost"}, Write: true,
		}
	}
	const rounds = 8
	for round := range rounds {
		files, err := tree.FromFiles(map[string][]byte{"pier/gull/reconciler.yaml": fmt.Appendf(nil, "kind: Puller\nround: %d\n", round)})
		check(t, err)
		what := publish.Proposal{
			Environment: "dev", Branch: "main", Rendered: files,
			Inputs: []source.Commit{{Layer: "base", Repo: "https://git.example.com/cp", Commit: strings.Repeat("1", 40), When: time.Unix(1e9, 0)}},
		}
		var results [2]publish.Result
		cycle := func(i int) {
			_, err := both[i].Remote.Sync(t.Context())
			if err == nil {
				results[i], err = publish.Publish(t.Context(), both[i], what)
			}
			if err != nil || results[i].State != publish.Proposed {
				t.Errorf("round %d: it is %s (%s), %v", round, results[i].State, results[i].Reason, err)
			}
		}
		var group sync.WaitGroup
		for i := range both {
			group.Go(func() { cycle(i) })
		}
		group.Wait()
		if t.Failed() {
			return
		}
		cycle(0)
		cycle(1)
		open, err := people.OpenPulls(t.Context())
		check(t, err)
		if len(open) != 1 || results[0].Pull.Number != open[0].Number || results[1].Pull.Number != open[0].Number {
			t.Fatalf("round %d: %d and %d are reported, and open are %+v", round, results[0].Pull.Number, results[1].Pull.Number, open)
		}
		server.SetOpen("acme/twins", open[0].Number, false) // so that the next one is opened anew
	}
	all, err := people.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	twins := 0
	for _, p := range all {
		if p.State == forge.Closed && strings.HasSuffix(p.Reason, "which is older, proposes the same.") {
			twins++
		}
	}
	t.Logf("of %d rounds, two pull requests were opened in %d", rounds, twins)
	equal(t, "pull requests", len(all), rounds+twins)
}
