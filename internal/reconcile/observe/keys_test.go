package observe

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

const longSecret = "0123456789abcdef0123456789abcdef"

// TestKeyRing: no key is good that may have been revoked.
func TestKeyRing(t *testing.T) {
	renewed := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	object := func(name string, epoch int) *model.ClusterKey {
		return &model.ClusterKey{Object: model.Object{Name: name}, Epoch: epoch, Renewed: renewed}
	}
	base := &model.Progress{
		Keys: []*model.ClusterKey{object("once", 1), object("twice", 2), object("twice", 1), object("subject", 3)},
		Problems: problem.List{
			{Pos: problem.Pos{File: ".fairlead/all.yaml"}, Subject: "ClusterKey/subject"},
			{Pos: problem.Pos{File: ".fairlead/clusters/file.yaml"}},
			{Pos: problem.Pos{File: ".fairlead/clusters/once.yaml"}, Warning: true},
			{Pos: problem.Pos{File: ".fairlead/promotion.yaml"}, Subject: "Promotion/never"},
		},
	}
	secrets, failure := []string{longSecret}, error(nil)
	k := NewKeyRing(func() ([]string, error) { return secrets, failure })
	keys := func(cluster string, epochs ...int) (all []string) {
		for _, epoch := range epochs {
			key, err := ledger.DeriveKey(longSecret, cluster, epoch)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, key)
		}
		return all
	}
	check := func(cluster string, after time.Duration, failure error, epochs ...int) {
		t.Helper()
		got, err := k.FindKeys(cluster, renewed.Add(after))
		if !slices.Equal(got, keys(cluster, epochs...)) || !errors.Is(err, failure) || (failure == nil) != (err == nil) {
			t.Errorf("%s: %q, %v, want those of %v", cluster, got, err, epochs)
		}
	}
	check("never", 0, ErrEpochUnknown)
	k.SetEpochs(ReadEpochs(base))
	check("never", 0, nil, 0)
	check("once", time.Hour, nil, 1, 0)
	check("once", 25*time.Hour, nil, 1)
	check("twice", 25*time.Hour, nil, 2)
	check("subject", 0, ErrEpochUnknown)
	check("file", 0, ErrEpochUnknown)
	k.SetEpochs(ReadEpochs(&model.Progress{}))
	check("file", 0, nil, 0)
	secrets = nil
	check("never", 0, nil)
	secrets, failure = []string{longSecret}, errors.New("gone")
	check("never", 0, failure)
}
