package clusterfiles_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// replaceFiles returns a tree in which all files have another text.
func replaceFiles(t *testing.T, files tree.Tree, old, new string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for name, data := range files.All() {
		if err := b.Add(name, bytes.ReplaceAll(data, []byte(old), []byte(new))); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// TestDetached: before a cluster is destroyed, Flux removes what its cluster type has on it. That is waited
// for, unless the manifest accepts that it is not; and the Kustomization goes without asking the cluster for
// anything, which may not answer any more.
func TestDetached(t *testing.T) {
	for cluster, file := range map[string]string{"two": "testdata/follow/cluster-leaves.txtar", "one": "testdata/phases/cluster-leaves.txtar"} {
		golden.Run(t, file, func(t *testing.T, c *golden.Case) {
			follow := func(previous tree.Tree, annotation string, isDone func(clusterfiles.Carrier) bool) tree.Tree {
				t.Helper()
				env := replaceFiles(t, c.Tree(t, "env"), "annotations: {", "annotations: {"+annotation)
				m, rendered := renderAll(t, model.Layer{Kind: model.Env, Name: "dev", Files: env})
				now, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{Tree: previous, IsCarriedOut: isDone})
				if problems.Stops() {
					t.Fatal(golden.Problems(problems))
				}
				return now
			}
			want := func(when string, output tree.Tree, want string) {
				t.Helper()
				if is := describeAttachment(t, output, cluster); is != want {
					t.Errorf("%s, the cluster is %s, want %s", when, is, want)
				}
			}
			all := func(clusterfiles.Carrier) bool { return true }
			exceptDetached := func(c clusterfiles.Carrier) bool { return !isDetached(c) }
			before := publishFirst(t, model.Layer{Kind: model.Env, Name: "dev", Files: c.Tree(t, "before")})
			want("before", before, "attached")
			detached := follow(before, "", exceptDetached)
			want("when it is to go", detached, "detached")
			checkWaitsFor(t, detached, "-40-"+cluster, cluster == "two")
			want("as long as something runs on it", follow(detached, "", exceptDetached), "detached")
			want("when nothing runs on it", follow(detached, "", all), "gone")
			const accept = "fairlead.io/accept: \"destroy-workloads/one,destroy-workloads/two\", "
			want("at first, if it does not answer", follow(before, accept, exceptDetached), "detached")
			want("if it does not answer", follow(detached, accept, exceptDetached), "gone")
		})
	}
}

// checkWaitsFor reports that the only manifest of an output does not wait for a Kustomization; alone if for no
// other one.
func checkWaitsFor(t *testing.T, output tree.Tree, suffix string, alone bool) {
	t.Helper()
	rendered, err := clusterfiles.ReadRendered(output)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range rendered {
		var all []string
		for _, c := range m.Carriers {
			all = append(all, c.Kustomizations...)
		}
		if !slices.ContainsFunc(all, func(name string) bool { return strings.HasSuffix(name, suffix) }) || (len(all) == 1) != alone {
			t.Errorf("%s waits for %v", m.State.Path(), all)
		}
	}
}

// describeAttachment returns whether an output attaches a cluster to a cluster type, or detaches it.
func describeAttachment(t *testing.T, output tree.Tree, cluster string) string {
	t.Helper()
	for name, data := range output.All() {
		_, text, there := strings.Cut(string(data), "-40-"+cluster+"\n")
		if !strings.HasSuffix(name, "/flux.yaml") || !there {
			continue
		}
		text, _, _ = strings.Cut(text, "\n---\n")
		if !strings.Contains(text, "/40-detached/"+cluster) {
			return "attached"
		}
		for _, want := range []string{"prune: true", "deletionPolicy: Orphan", "wait: true", "kubeConfig:"} {
			if !strings.Contains(text, want) || strings.Contains(text, "dependsOn") {
				t.Errorf("the Kustomization lacks %s, or waits for another:\n%s", want, text)
			}
		}
		return "detached"
	}
	return "gone"
}
