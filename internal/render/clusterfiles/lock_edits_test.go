package clusterfiles_test

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
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
	"deleted": nil,
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
// was. Where no such output is known, nothing is rendered.
func TestEditedLocks(t *testing.T) {
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
				restore := func(file string) (provision.State, string) {
					if file != lock {
						t.Errorf("%s is restored", file)
					}
					return written, "0123456789abcdef"
				}
				follow := func(previous tree.Tree, restore clusterfiles.RestoreLock, done bool) (tree.Tree, string, bool) {
					now, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{
						Tree: previous, Restore: restore, IsCarriedOut: func(clusterfiles.Carrier) bool { return done },
					})
					return now, golden.Problems(problems), problems.Stops()
				}
				want, _, _ := follow(current, nil, false)
				for what, edit := range lockEdits {
					var data []byte
					if edit != nil {
						data = edit(bytes.Clone(entry.Data))
					}
					edited := withLock(t, current, lock, data)
					now, said, stops := follow(edited, restore, false)
					if stops || now.ID() != want.ID() {
						t.Errorf("%s: it does not go on as it was: %s%s", what, said, describeDiff(want, now))
					}
					if !strings.Contains(said, lock+" of the output: ") || !strings.Contains(said, "what commit 0123456 has counts") {
						t.Errorf("%s: it is not named: %s", what, said)
					}
					if _, said, stops := follow(edited, nil, true); !stops || !strings.Contains(said, "what clusters there are is not known: "+lock) {
						t.Errorf("%s: without an earlier output it goes on: %s", what, said)
					}
				}
				current, _, _ = follow(current, nil, true)
			}
			if len(phases) == 0 {
				t.Error("there was no rollout")
			}
		})
	}
}

// TestDeletedLockGuards: who deletes a lock does not get past the guard rails.
func TestDeletedLockGuards(t *testing.T) {
	golden.Run(t, "testdata/previous/network.txtar", func(t *testing.T, c *golden.Case) {
		_, before := renderAll(t, model.Layer{Kind: model.Env, Name: "dev", Files: c.Tree(t, "before")})
		m, _, _ := renderCase(t, c)
		lock := ""
		for file := range before.All() {
			if path.Base(file) == provision.LockFile {
				lock = file
			}
		}
		entry, _ := before.Lookup(lock)
		written, err := provision.ParseLock(entry.Data)
		if err != nil {
			t.Fatal(err)
		}
		restore := func(string) (provision.State, string) { return written, "0123456789abcdef" }
		problems := clusterfiles.CheckPrevious(m, withLock(t, before, lock, nil), restore)
		if text := golden.Problems(problems); !problems.Stops() || !strings.Contains(text, "the network cannot change") || !strings.Contains(text, "it was deleted") {
			t.Errorf("the problems are %s", text)
		}
	})
}
