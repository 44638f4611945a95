package clusterfiles_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// lockEdits are what people do to a lock; nil for one that they delete.
var lockEdits = map[string]func([]byte) []byte{
	"edited": func(b []byte) []byte {
		return bytes.Replace(b, []byte("namespace: fleet"), []byte("namespace: flood"), 1)
	},
	"a phase that was not there": func(b []byte) []byte {
		return bytes.Replace(b, []byte("state:\n"), []byte("state:\n  rollout:\n    phase: contract\n"), 1)
	},
	"another digest": func(b []byte) []byte {
		return bytes.Replace(b, []byte("digest: sha256:"), []byte("digest: sha256:0"), 1)
	},
	"another comment": func(b []byte) []byte { return append([]byte("# mine\n"), b...) },
	"truncated":       func(b []byte) []byte { return b[:len(b)/2] },
	"empty":           func([]byte) []byte { return []byte{} },
	"another version": func(b []byte) []byte {
		return bytes.Replace(b, []byte("fairlead.io/v1alpha1"), []byte("fairlead.io/v9"), 1)
	},
	"another field": func(b []byte) []byte { return append(b, "more: true\n"...) },
	"not YAML":      func([]byte) []byte { return []byte("\x00{[") },
	"merged by hand": func(b []byte) []byte {
		return append(append(append([]byte("<<<<<<< HEAD\n"), b...), "=======\n"...), append(b, ">>>>>>> theirs\n"...)...)
	},
	"deleted":         nil,
	"with its digest": nil, // see withDigest
}

// withDigest returns a lock of other networks and templates, with the digest that Fairlead would write.
func withDigest(t *testing.T, lock []byte) []byte {
	t.Helper()
	state, err := provision.ParseLock(lock)
	if err != nil {
		t.Fatal(err)
	}
	state.Templates = map[string]string{"mine": "v9"}
	state.Spec.Kubernetes.Clusters = slices.Clone(state.Spec.Kubernetes.Clusters)
	for i := range state.Spec.Kubernetes.Clusters {
		state.Spec.Kubernetes.Clusters[i].Network = "192.168.7.0/24"
	}
	edited, err := provision.EncodeLock(&state)
	if err != nil {
		t.Fatal(err)
	}
	return edited
}

// withLock returns an output in which the lock of a manifest has other bytes; nil for no lock.
func withLock(t *testing.T, output tree.Tree, lock string, data []byte) tree.Tree {
	t.Helper()
	files := map[string][]byte{}
	for file, was := range output.All() {
		if file != lock {
			files[file] = was
		} else if data != nil {
			files[file] = data
		}
	}
	edited, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return edited
}

// TestEditedLocks: whatever somebody does to a lock, in whichever phase of a rollout, is named; what the
// last output has that nobody edited counts, and the rollout goes on from there, with a lock that is as it
// was. Where no such output is known, nothing is rendered from a lock that is not as Fairlead wrote it.
func TestEditedLocks(t *testing.T) {
	destroyed := 0
	for _, name := range []string{"api-joins-balancer", "last-cluster"} {
		golden.Run(t, "testdata/phases/"+name+".txtar", func(t *testing.T, c *golden.Case) {
			_, current := renderAll(t, model.Layer{Kind: model.Env, Name: "dev", Files: c.Tree(t, "before")})
			m, rendered := renderAll(t, c.Layers(t)...)
			const lock = "clusters/tofu/fleet-m/" + provision.LockFile
			phases := map[provision.Phase]bool{}
			for range 5 {
				entry, _ := current.Lookup(lock)
				written, err := provision.ParseLock(entry.Data)
				if err != nil {
					t.Fatal(err)
				}
				if written.Rollout != nil {
					phases[written.Rollout.Phase] = true
				}
				follow := func(previous tree.Tree, intact clusterfiles.Intact, done bool) (tree.Tree, string, bool) {
					now, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{
						Tree: previous, Intact: intact, IsCarriedOut: func(clusterfiles.Carrier) bool { return done },
					})
					return now, golden.Problems(problems), problems.Stops()
				}
				intact := clusterfiles.Intact{Tree: current, Commit: "0123456789abcdef"}
				want, _, _ := follow(current, clusterfiles.Intact{}, false)
				for what, edit := range lockEdits {
					var data []byte
					switch {
					case edit != nil:
						data = edit(bytes.Clone(entry.Data))
					case what == "with its digest":
						data = withDigest(t, entry.Data)
					}
					edited := withLock(t, current, lock, data)
					now, said, stops := follow(edited, intact, false)
					if stops || withoutPlans(t, now).ID() != withoutPlans(t, want).ID() {
						t.Errorf("%s: it does not go on as it was: %s%s", what, said, describeDiff(want, now))
					}
					if again, _, _ := follow(now, clusterfiles.Intact{}, false); again.ID() != now.ID() {
						t.Errorf("%s: it does not stay: %s", what, describeDiff(now, again))
					}
					if !strings.Contains(said, lock+" of the output: it was ") || !strings.Contains(said, "what commit 0123456 has counts") {
						t.Errorf("%s: it is not named: %s", what, said)
					}
					if what == "with its digest" {
						continue
					}
					if _, said, stops := follow(edited, clusterfiles.Intact{}, true); !stops || !strings.Contains(said, "what clusters there are is not known: "+lock) {
						t.Errorf("%s: without an earlier output it goes on: %s", what, said)
					}
				}
				deleted := tree.FromEntries(slices.DeleteFunc(slices.Clone(current.Entries()), func(e tree.Entry) bool { return e.Name == clusterfiles.Folder }))
				restored, _, _ := follow(deleted, intact, false)
				destroyed += checkRestoredParts(t, deleted, restored)
				current, _, _ = follow(current, clusterfiles.Intact{}, true)
			}
			if len(phases) == 0 {
				t.Error("there was no rollout")
			}
		})
	}
	if destroyed == 0 {
		t.Error("no part was being destroyed")
	}
}

// checkRestoredParts checks that a change which writes a deleted folder again says of no part that it is added, and
// of those that are being destroyed so. It returns how many these are.
func checkRestoredParts(t *testing.T, deleted, restored tree.Tree) int {
	t.Helper()
	parts, err := clusterfiles.SummarizeManifest("fleet-m", restored.Sub("clusters/tofu/fleet-m"))
	changes := impact.CompareClusters(deleted, restored)
	if err != nil || len(changes) != 1 {
		t.Fatalf("%v: the changes are %v", err, changes)
	}
	destroyed := 0
	for _, part := range changes[0].Parts {
		is, _ := parts.FindComponent(part.Name)
		want := impact.ComponentChanged
		if is.Action == stackfiles.Destroy {
			want = impact.ComponentDestroyed
			destroyed++
		}
		if part.Change != want {
			t.Errorf("part %s is %s, want %s", part.Name, part.Change, want)
		}
	}
	return destroyed
}

// TestDeletedGuards: who deletes a lock, or all that the output has of a manifest, does not get past the guard
// rails; nothing of it counts as carried out, and the plan does not make the clusters anew.
func TestDeletedGuards(t *testing.T) {
	golden.Run(t, "testdata/previous/network.txtar", func(t *testing.T, c *golden.Case) {
		layer := model.Layer{Kind: model.Env, Name: "dev", Files: c.Tree(t, "before")}
		before := publishFirst(t, layer)
		unchanged, rendered := renderAll(t, layer)
		m, changed, _ := renderCase(t, c)
		const folder = "clusters/claudie/fleet-edge"
		others := tree.FromEntries(slices.DeleteFunc(slices.Clone(before.Entries()), func(e tree.Entry) bool { return e.Name == "clusters" }))
		for what, now := range map[string]tree.Tree{
			folder + "/lock.yaml of the output: it was deleted": withLock(t, before, folder+"/lock.yaml", nil),
			folder + " of the output: it was deleted":           others,
		} {
			previous := clusterfiles.Previous{
				Tree: now, Intact: clusterfiles.Intact{Tree: before, Commit: "0123456789abcdef"}, IsCarriedOut: func(clusterfiles.Carrier) bool { return true },
			}
			_, _, problems := clusterfiles.FollowPrevious(m, changed, previous)
			if text := golden.Problems(problems); !problems.Stops() || !strings.Contains(text, "the network cannot change") || !strings.Contains(text, what) {
				t.Errorf("%s: the problems are %s", what, text)
			}
			restored, _, problems := clusterfiles.FollowPrevious(unchanged, rendered, previous)
			if problems.Stops() || withoutPlans(t, restored).ID() != withoutPlans(t, before).ID() {
				t.Errorf("%s: it is not restored: %s%s", what, golden.Problems(problems), describeDiff(before, restored))
			}
			for _, c := range impact.CompareClusters(now, restored) {
				if len(c.Steps) > 0 || c.Unknown != "" {
					t.Errorf("%s: restoring it has the steps %v, %s", what, c.Steps, c.Unknown)
				}
			}
		}
	})
}
