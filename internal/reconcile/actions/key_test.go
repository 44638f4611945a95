package actions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// TestRenewKey: the epoch is counted up from what the base has, in a commit of its own.
func TestRenewKey(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	if epoch, err := d.KeyEpoch(t.Context(), "east-1"); epoch != (ledger.Epoch{}) || err != nil {
		t.Errorf("the first epoch is %+v, %v", epoch, err)
	}
	for _, want := range []int{1, 2} {
		epoch, got, err := d.RenewKey(t.Context(), "east-1", "it was in a log")
		if err != nil || epoch.Number != want || !epoch.Renewed.Equal(now) || !got.Changed || got.Name != "east-1" {
			t.Errorf("%+v, %+v, %v", epoch, got, err)
		}
	}
	if epoch, err := w.open(w.options()).KeyEpoch(t.Context(), "east-1"); epoch.Number != 2 || err != nil {
		t.Errorf("the epoch is %+v, %v", epoch, err)
	}
	w.equal("the message", w.head("main"), `Alice <alice@example.com>
Renew the key of cluster east-1

it was in a log

Fairlead-Action: renew-key`)
	w.equal("the file", w.file("main", ".fairlead/clusters/east-1.yaml"), `apiVersion: fairlead.io/v1alpha1
kind: ClusterKey
metadata:
  name: east-1
spec:
  epoch: 2
  renewed: 2026-01-02T03:04:05Z
  reason: it was in a log`)
}

// TestRetireCluster: that a cluster is retired is in its file, beside its key, and stays there when that is
// renewed.
func TestRetireCluster(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	got, err := d.RetireCluster(t.Context(), "east-1", "it was sold")
	if err != nil || !got.Changed || got.Name != "east-1" {
		t.Errorf("%+v, %v", got, err)
	}
	w.equal("the message", w.head("main"), `Alice <alice@example.com>
Retire cluster east-1

it was sold

Fairlead-Action: retire`)
	w.equal("the file", w.file("main", ".fairlead/clusters/east-1.yaml"), `apiVersion: fairlead.io/v1alpha1
kind: ClusterKey
metadata:
  name: east-1
spec:
  epoch: 0
  retired: 2026-01-02T03:04:05Z
  reason: it was sold`)
	if epoch, err := d.KeyEpoch(t.Context(), "east-1"); epoch != (ledger.Epoch{}) || err != nil {
		t.Errorf("the epoch is %+v, %v", epoch, err)
	}
	if epoch, _, err := d.RenewKey(t.Context(), "east-1", "it comes back"); epoch.Number != 1 || err != nil {
		t.Errorf("the next epoch is %+v, %v", epoch, err)
	}
	w.equal("the file", w.file("main", ".fairlead/clusters/east-1.yaml"), `apiVersion: fairlead.io/v1alpha1
kind: ClusterKey
metadata:
  name: east-1
spec:
  epoch: 1
  renewed: 2026-01-02T03:04:05Z
  retired: 2026-01-02T03:04:05Z
  reason: it comes back`)
}

// TestRenewKeyRace: of two that renew a key at the same time, each gets an epoch of its own.
func TestRenewKeyRace(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	raced := false
	o.BeforeEffect = func(string) {
		if raced {
			return
		}
		raced = true
		if _, _, err := w.open(w.options()).RenewKey(t.Context(), "east-1", "first"); err != nil {
			t.Error(err)
		}
	}
	if epoch, _, err := w.open(o).RenewKey(t.Context(), "east-1", "second"); epoch.Number != 2 || err != nil {
		t.Errorf("%+v, %v", epoch, err)
	}
}

// TestRenewKeyRefused: what cannot be read, or was written elsewhere, is not counted on from nothing.
func TestRenewKeyRefused(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"no epoch", "clusters/east-1.yaml", "spec: {renewed: 2026-01-01T00:00:00Z}", "it is not known which key the cluster has"},
		{"not YAML", "clusters/east-1.yaml", "{", "it is not known which key the cluster has"},
		{"elsewhere", "keys.yaml", "spec: {epoch: 7, renewed: 2026-01-01T00:00:00Z}", "the key of east-1 is in .fairlead/keys.yaml, which no operator action wrote"},
	} {
		w := newWorld(t)
		w.work.Switch("main")
		w.work.Write(".fairlead/"+c.file, "apiVersion: fairlead.io/v1alpha1\nkind: ClusterKey\nmetadata: {name: east-1}\n"+c.text+"\n")
		w.work.Commit("by hand")
		w.work.Push()
		var refusal *problem.Refusal
		epoch, _, err := w.open(w.options()).RenewKey(t.Context(), "east-1", "x")
		if epoch != (ledger.Epoch{}) || !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, c.want) {
			t.Errorf("%s: %+v, %v", c.name, epoch, err)
		}
		if c.name != "elsewhere" {
			continue
		}
		if epoch, err := w.open(w.options()).KeyEpoch(t.Context(), "east-1"); epoch.Number != 7 || err != nil {
			t.Errorf("the epoch is %+v, %v", epoch, err)
		}
	}
}

// TestAdoptCluster: that a cluster was adopted is in the file of its name, and stays there when the key is
// renewed.
func TestAdoptCluster(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	got, err := d.AdoptCluster(t.Context(), "east-1", "it was built anew")
	if err != nil || !got.Changed || got.Name != "east-1" {
		t.Errorf("%+v, %v", got, err)
	}
	w.equal("the message", w.head("main"), `Alice <alice@example.com>
Adopt cluster east-1

it was built anew

Fairlead-Action: adopt`)
	if epoch, _, err := d.RenewKey(t.Context(), "east-1", "it was in a log"); epoch.Number != 1 || err != nil {
		t.Errorf("the next epoch is %+v, %v", epoch, err)
	}
	w.equal("the file", w.file("main", ".fairlead/clusters/east-1.yaml"), `apiVersion: fairlead.io/v1alpha1
kind: ClusterKey
metadata:
  name: east-1
spec:
  epoch: 1
  renewed: 2026-01-02T03:04:05Z
  adopted: 2026-01-02T03:04:05Z
  reason: it was in a log`)
}
