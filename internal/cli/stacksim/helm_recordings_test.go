package stacksim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// releaseRecordings are the recordings of HelmReleases, of which one is compared, and until what: charts are not read, so
// that nothing is simulated of another version of a chart, or of one that cannot be installed.
var releaseRecordings = map[string][2]string{
	"16a-helm-lifecycle": {"HelmRelease/s16a/site", "chart site 1.1.0"},
	"16b-helm-waits":     {"HelmRelease/s16b/vals", "the missing chart"},
}

// TestReleaseRecordings gives the simulated helm-controller what was done in each recording, and compares what its object
// is with what the real one was. That a chart is not fetched yet comes first or not, by chance.
func TestReleaseRecordings(t *testing.T) {
	for name, of := range releaseRecordings {
		t.Run(name, func(t *testing.T) {
			r := newTerraformReplay(t)
			r.c.watch = func(o *object) {
				if known := r.c.releases[o.objectKey]; known != nil {
					r.got.add(known.ready.status+"/"+known.ready.reason, "")
				}
			}
			for _, s := range recordings.Load(t, name).Steps {
				for ; !r.now.IsZero() && r.now.Before(s.Time); r.now = r.now.Add(10 * time.Millisecond) {
					for _, known := range r.c.releases {
						r.c.runRelease(known, r.now)
					}
				}
				r.now = s.Time
				switch {
				case strings.HasPrefix(s.Did, "git push charts") && strings.Contains(s.Did, of[1]):
					if diff := cmp.Diff(r.want.list(), r.got.list()); diff != "" || len(r.want.ready) < 3 {
						t.Errorf("simulated otherwise than recorded (-recorded +simulated):\n%s", diff)
					}
					return
				case strings.HasPrefix(s.Did, "kubectl create secret generic shop-values"):
					r.c.secrets[objectKey{"Secret", "s16b", "shop-values"}] = map[string]string{"text": "from-secret"}
				case s.Object == of[0]:
					o := r.newObject(s.Find(s.Object))
					if known := r.c.releases[o.objectKey]; known == nil || known.generation != o.generation {
						r.c.apply(o)
					}
					if ready := readSeen(t, s.Find(s.Object)).has("Ready"); ready != "False/SourceNotReady" {
						r.want.add(ready, "")
					}
				}
			}
			t.Errorf("nobody has pushed %q", of[1])
		})
	}
}
