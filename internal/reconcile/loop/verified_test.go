package loop_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestVerifiedCommits is the life of a change whose commits GitHub makes and signs for
// an App.
func TestVerifiedCommits(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	fake := githubfake.Serve(t)
	fake.Install("12", 77, &key.PublicKey)
	fake.Create(githubCP)
	fake.Create(githubOut)
	w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev"})
	w.kind = "kind: github, api: \"" + fake.API() + "\""
	host := strings.TrimSuffix(fake.Git.URL(""), "/.git")
	w.more += "remotes: [{url: \"" + host + "/\", githubApp: {id: 12, installation: 77, key: {file: " + file + "}, api: \"" + fake.API() + "\"}}]\n" +
		"output: {verifiedCommits: true}\n"
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed})
	signed := func() string {
		t.Helper()
		raw := gittest.Git(t, fake.Git.Dir(githubOut), "cat-file", "commit", "fairlead/dev")
		if !strings.Contains(raw, "gpgsig ") || !strings.Contains(raw, "committer GitHub ") {
			t.Errorf("the commit is not GitHub's:\n%s", raw)
		}
		return gittest.Git(t, fake.Git.Dir(githubOut), "rev-parse", "fairlead/dev")
	}
	first := signed()
	before := len(fake.Requests())
	d.cycle()
	for _, r := range fake.Requests()[before:] {
		// An hour has passed, and somebody may have closed the pull request.
		if !strings.HasSuffix(r.Path, "/access_tokens") && !strings.HasSuffix(r.Path, "/pulls") {
			t.Errorf("a cycle in which nothing moved asks %s %s", r.Method, r.Path)
		}
	}
	d.Close()
	d = w.begin(t.TempDir())
	d.cycle() // a daemon that knows nothing finds the commit as it should be
	if signed() != first {
		t.Error("another daemon has made the commit again")
	}
	w.edit("dev", "configs/environment.yaml", "debug", "info")
	d.cycle()
	if signed() == first {
		t.Error("the edit made no commit")
	}
	fake.Merge(githubOut, d.state("dev").Pull.Number, true)
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync})
}
