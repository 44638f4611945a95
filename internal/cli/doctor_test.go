package cli

import (
	"bytes"
	"net"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/reconcile/doctor"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestFindHeldUp: doctor asks a daemon that runs which clusters finish the health checks of older commits first. Without
// one, nothing is said.
func TestFindHeldUp(t *testing.T) {
	dir := t.TempDir()
	file := writeFleetSettings(t, dir)
	settings, problems, err := config.LoadForCommands(file, func(string) string { return "" })
	if err != nil || problems.Stops() {
		t.Fatal(err, problems)
	}
	find := func(want ...doctor.HeldUp) {
		t.Helper()
		var stderr bytes.Buffer
		d := doctorCommand{app: &app{stderr: display.NewStream(&stderr)}}
		if diff := cmp.Diff(want, d.findHeldUp(t.Context(), settings)); diff != "" || stderr.Len() > 0 {
			t.Errorf("(-want +got)\n%s\n%s", diff, &stderr)
		}
	}
	w := ledgerworld.NewSQLite(t, filepath.Join(dir, "ledger.db"))
	w.HoldUp("prod", "large", "east-1", "Kustomization/flux-system/stacks")
	find()

	listener, err := net.Listen("tcp", settings.Listen)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(web.New(web.Options{Fleet: w.View}))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()
	find(doctor.HeldUp{Cluster: "east-1", Object: "Kustomization/flux-system/stacks", Seen: ledgerworld.Now})
}
