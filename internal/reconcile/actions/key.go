package actions

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// KeyEpoch returns the epoch of the key of a cluster.
func (d *Session) KeyEpoch(ctx context.Context, cluster string) (ledger.Epoch, error) {
	base, err := d.source.Base(ctx)
	if err != nil {
		return ledger.Epoch{}, err
	}
	return observe.ReadEpochs(base.Progress).Find(cluster)
}

// RenewKey writes into the base that a cluster has the next key, and returns its epoch.
func (d *Session) RenewKey(ctx context.Context, cluster, reason string) (ledger.Epoch, Result, error) {
	var next ledger.Epoch
	r, err := d.perform(ctx, "", func(v snapshot) (change, error) {
		last, err := observe.ReadEpochs(v.base.Progress).Find(cluster)
		if err != nil {
			return change{}, problem.Refusef("mend the file first", "%v", err)
		}
		for _, k := range v.base.Progress.Keys {
			if k.Name == cluster && k.Pos.File != observe.KeyFile(cluster) {
				return change{}, problem.Refusef("move it to "+observe.KeyFile(cluster)+", or renew it by hand", "the key of %s is in %s, which no operator action wrote", cluster, k.Pos.File)
			}
		}
		next = last.Next(d.options.Now())
		text, err := model.EncodeObject("ClusterKey", cluster, keySpec{next.Number, next.Renewed, reason})
		return change{
			action: renewKeyAction, name: cluster, reason: reason, title: "Renew the key of cluster " + cluster,
			summary: fmt.Sprintf("cluster %s has another key; the one before is good for 24 hours", cluster),
			files:   map[string][]byte{observe.KeyFile(cluster): text},
		}, err
	})
	return next, r, err
}
