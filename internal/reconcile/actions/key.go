package actions

import (
	"context"
	"fmt"
	"time"

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
	r, err := d.changeKey(ctx, cluster, change{
		action: renewKeyAction, name: cluster, reason: reason, title: "Renew the key of cluster " + cluster,
		summary: fmt.Sprintf("cluster %s has another key; the one before is good for 24 hours", cluster),
	}, func(k *keySpec) {
		next = ledger.Epoch{Number: k.Epoch, Renewed: k.Renewed}.Next(d.options.Now())
		k.Epoch, k.Renewed = next.Number, next.Renewed
	})
	return next, r, err
}

// RetireCluster writes into the base that a cluster is no longer expected, whatever it reports.
func (d *Session) RetireCluster(ctx context.Context, cluster, reason string) (Result, error) {
	return d.changeKey(ctx, cluster, change{
		action: retireAction, name: cluster, reason: reason, title: "Retire cluster " + cluster,
		summary: fmt.Sprintf("cluster %s is no longer expected; to expect it again, renew its key or adopt it", cluster),
	}, func(k *keySpec) { k.Retired = d.options.Now().UTC().Truncate(time.Second) })
}

// AdoptCluster writes into the base that the cluster which reports under a name next has it, if the one
// before is silent: it was built in the place of that.
func (d *Session) AdoptCluster(ctx context.Context, cluster, reason string) (Result, error) {
	return d.changeKey(ctx, cluster, change{
		action: adoptAction, name: cluster, reason: reason, title: "Adopt cluster " + cluster,
		summary: fmt.Sprintf("a cluster that reports as %s takes the place of the one before, once that is silent", cluster),
	}, func(k *keySpec) { k.Adopted = d.options.Now().UTC().Truncate(time.Second) })
}

func (d *Session) changeKey(ctx context.Context, cluster string, c change, edit func(*keySpec)) (Result, error) {
	return d.perform(ctx, "", func(v snapshot) (change, error) {
		last, err := observe.ReadEpochs(v.base.Progress).Find(cluster)
		if err != nil {
			return change{}, problem.Refusef("mend the file first", "%v", err)
		}
		spec := keySpec{Epoch: last.Number, Renewed: last.Renewed, Reason: c.reason}
		for _, k := range v.base.Progress.Keys {
			if k.Name == cluster && k.Pos.File != observe.KeyFile(cluster) {
				return change{}, problem.Refusef("move it to "+observe.KeyFile(cluster)+", or change it by hand", "the key of %s is in %s, which no operator action wrote", cluster, k.Pos.File)
			}
			if k.Name == cluster {
				spec.Retired, spec.Adopted, spec.Environments = k.Retired, k.Adopted, k.Environments
			}
		}
		edit(&spec)
		text, err := model.EncodeObject("ClusterKey", cluster, spec)
		c.files = map[string][]byte{observe.KeyFile(cluster): text}
		return c, err
	})
}
