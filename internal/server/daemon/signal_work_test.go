package daemon_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// burdened is how many assignments there are that are much work, each with values of its own,
// so that nothing is known of one from another.
const burdened = 500

// workBefore is the CPU time that the daemon spends on hard work before it is told to end: much
// more than on what comes before it, and much less than there is.
const workBefore = time.Second

// slowTemplate reads a text of 70 kB so often for each assignment that it is nearly all the work
// that one expansion may be.
const slowTemplate = "# {{ .ClusterType }} {{ .DeploymentTargetName }}\n{{ $t := repeat 10000 .ClusterType }}{{ range until 400 }}{{ $_ := sha256sum $t }}{{ end }}"

// burden adds cluster types to dev, with platform values of their own, and an object that makes
// each of them much work. The moment is when rendering has begun, and some work was done.
func (s *scene) burden(object string) {
	s.Helper()
	var b strings.Builder
	for i := range burdened {
		fmt.Fprintf(&b, "%s---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: zone-%d, labels: {platform-config: \"true\", zone: z%d}}\ndata: {ZONE: z%d}\n---\n",
			strings.Replace(clusterType(fmt.Sprintf("zone-%d", i)), "labels: {", fmt.Sprintf("labels: {zone: z%d, ", i), 1), i, i, i)
	}
	w := s.server.Work(s, "acme/cp")
	w.Switch("dev")
	w.Write("zones.yaml", b.String())
	w.Write("hard.yaml", object)
	w.Commit("Hard work")
	w.Push("dev")
	s.word, s.working, s.more = "msg=render", workBefore, "log: {level: debug}\n"
}

// repeat has dev's branch hold one large file under very many names.
func (s *scene) repeat() {
	s.Helper()
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata:\n")
	for i := range 20_000 {
		fmt.Fprintf(&b, "  k%d: \"text %d\"\n", i, i)
	}
	w := s.server.Work(s, "acme/cp")
	w.Switch("dev")
	w.Write("large.yaml", b.String())
	w.Commit("Large")
	blob := gittest.Git(s, w.Dir, "rev-parse", "HEAD:large.yaml")
	add := []string{"update-index", "--add"}
	for i := range 1000 {
		add = append(add, "--cacheinfo", fmt.Sprintf("100644,%s,many/%d.yaml", blob, i))
	}
	gittest.Git(s, w.Dir, add...)
	gittest.Git(s, w.Dir, "commit", "-q", "-m", "Many")
	w.Push("dev")
	s.word, s.working, s.more = "there is something to do", workBefore, "log: {level: debug}\n"
}

// spend waits until a process has spent as much CPU time more as is asked for.
func (s *scene) spend(pid int, outer <-chan time.Time, said *watched) {
	s.Helper()
	began := cpuTime(s, pid)
	for ask := time.Tick(10 * time.Millisecond); cpuTime(s, pid)-began < s.working.Seconds(); {
		select {
		case <-ask:
		case <-outer:
			s.Fatalf("it does no work; it says\n%s", said)
		}
	}
}
