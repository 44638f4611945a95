package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// TestReplicas lets two daemons share a control plane by advisory locks: on Gitea, which takes a second pull
// request, none is opened, though each daemon is killed once.
func TestReplicas(t *testing.T) {
	t.Parallel()
	binary := program(t)
	db := pgtest.Create(t)
	s := &twins{T: t, host: giteaHost(t), binary: binary, dir: t.TempDir()}
	for name, text := range map[string]string{"ledger-secret": "0123456789abcdef0123456789abcdef", "ledger-address": db.Address} {
		must(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
	s.more = "ledger: {secret: {file: ledger-secret}, postgres: {url: {file: ledger-address}}}\nreplicas: {by: postgres, period: 5s}\n"
	s.fill()
	for i := range s.daemons {
		s.daemons[i] = s.start(i)
	}
	s.settle("")
	for n := range 3 {
		value := fmt.Sprintf("change-%d", n)
		if n > 0 {
			s.daemons[n%2].kill()
			s.daemons[n%2] = s.start(n % 2)
		}
		s.change(value)
		s.merge(s.settle(value).Number)
	}
	all, err := s.forge.Pulls(t.Context(), "fairlead/dev", "dev")
	must(t, err)
	if len(all) != 3 {
		t.Errorf("%d pull requests were opened, want 3", len(all))
	}
	for _, p := range all {
		if p.State != forge.Merged {
			t.Errorf("pull request %d is %s: %s", p.Number, p.State, p.Reason)
		}
	}
}
