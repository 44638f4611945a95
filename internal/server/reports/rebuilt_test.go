package reports

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// TestRebuilt: a cluster that was built anew is refused, with the uids of both, until the key was renewed
// after the one before was last in touch: then the new key lets it have the name, and the old one does not.
func TestRebuilt(t *testing.T) {
	b := newBox()
	epoch := ledger.Epoch{}
	b.keys = func(cluster string, now time.Time) ([]string, error) {
		return epoch.DeriveKeys([]string{secretOfTests}, cluster, now)
	}
	send := func(after time.Duration, uid string, epoch, code int, says ...string) {
		t.Helper()
		b.now = noon.Add(after)
		r := newRequest()
		r.UID, r.Boot, r.Sent = uid, uid, b.now
		key, err := ledger.DeriveKey(secretOfTests, "east-1", epoch)
		if err != nil {
			t.Fatal(err)
		}
		w := b.send("east-1", key, encode(t, r, false), nil)
		for _, words := range says {
			if !strings.Contains(w.Body.String(), words) {
				t.Errorf("%s with key %d: %s does not say %s", uid, epoch, w.Body, words)
			}
		}
		if w.Code != code {
			t.Errorf("%s with key %d after %s: %d, want %d: %s", uid, epoch, after, w.Code, code, w.Body)
		}
	}
	send(0, "uid-1", 0, http.StatusNoContent)
	send(time.Minute, "uid-2", 0, http.StatusConflict, "that one has the uid uid-1, and this one uid-2", "fairlead fleet adopt east-1")
	epoch = epoch.Next(noon.Add(2 * time.Minute))
	b.ledger.SetAdopted(map[string]time.Time{"east-1": epoch.Renewed})
	send(3*time.Minute, "uid-2", 1, http.StatusConflict) // the one before may only be late
	send(4*time.Minute, "uid-3", 0, http.StatusConflict) // who has stolen the old key
	send(5*time.Minute, "uid-2", 1, http.StatusNoContent)
	send(6*time.Minute, "uid-1", 0, http.StatusConflict, "that one has the uid uid-2, and this one uid-1")
	send(25*time.Hour, "uid-1", 0, http.StatusUnauthorized)
}
