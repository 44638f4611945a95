package stacksim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// otherRecordings are those that this package does not simulate, and why.
var otherRecordings = map[string]string{
	"17-kustomization":      "an API server refuses objects, which this cluster has not; fluxsim has the events of what is left",
	"17x-workers-exhausted": "what holds the workers is not in the recording: TestWorkers has the same",
}

// TestAllRecordings: every recording is simulated, or it is said why not.
func TestAllRecordings(t *testing.T) {
	for _, name := range recordings.Names(t) {
		_, ofTerraform := terraformRecordings[name]
		_, ofComponents := kustomizeRecordings[name]
		_, ofReleases := releaseRecordings[name]
		if !ofTerraform && !ofComponents && !ofReleases && otherRecordings[name] == "" {
			t.Errorf("%s is neither simulated nor left out", name)
		}
	}
}

// longestPause returns how long the recorded Kustomization was left alone, at most, while it was to be tried again every ten
// seconds.
func longestPause(t *testing.T) (longest time.Duration) {
	t.Helper()
	var last time.Time
	for _, s := range recordings.Load(t, "17x-workers-exhausted").Steps {
		if s.Object != "Kustomization/s17/first" {
			continue
		}
		if seen := readSeen(t, s.Find(s.Object)); seen.has("Ready") == "False/ArtifactFailed" {
			last = s.Time
		} else if !last.IsZero() {
			longest, last = max(longest, s.Time.Sub(last)), time.Time{}
		}
	}
	return longest
}

// TestWorkers: four Kustomizations that wait in health checks stop every other one, as recorded; those whose plans wait for
// a person do not.
func TestWorkers(t *testing.T) {
	if pause := longestPause(t); pause < 30*time.Second {
		t.Errorf("the recorded Kustomization was left alone for %s at most", pause)
	}
	for _, test := range []struct {
		name    string
		source  bool // the components that wait have a source, and a plan that waits
		workers int
		stopped bool
	}{
		{"in a health check", false, 0, true},
		{"in a health check, and there are more workers", false, 7, false},
		{"for a person", true, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := []component{{name: "zero", commit: "a", approve: "auto"}}
			for i := range 5 {
				all = append(all, component{name: fmt.Sprintf("a%d", i), commit: "a"})
			}
			output := newOutput(t, all)
			if !test.source {
				output = withoutSources(t, output)
			}
			c := newCluster(Options{Environment: "dev", Cluster: "one", Folder: t.TempDir(), Pace: time.Second, Workers: test.workers})
			read := func(commit, _ string) (module, error) { return module{digest: commit}, nil }
			for i := range 30 { // less than the timeout, which is a minute
				if err := c.reconcile(strings.Repeat("1", 40), output, noon.Add(time.Duration(i)*time.Second), read); err != nil {
					t.Fatal(err)
				}
			}
			zero := c.kustomizations[objectKey{"Kustomization", "shop", "zero"}]
			if isStopped := zero.attempted == ""; isStopped != test.stopped {
				t.Errorf("the last one is %+v", zero.ready)
			}
		})
	}
}

// withoutSources returns an output without the sources of the components that wait: nothing becomes of these.
func withoutSources(t *testing.T, output tree.Tree) tree.Tree {
	t.Helper()
	var b tree.Builder
	for file, data := range output.All() {
		text := string(data)
		if strings.HasSuffix(file, "all.yaml") && !strings.Contains(file, "/zero/") {
			text, _, _ = strings.Cut(text, "---\n")
		}
		if err := b.Add(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}
