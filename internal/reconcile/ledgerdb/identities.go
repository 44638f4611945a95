package ledgerdb

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// maxRemembered limits the clusters whose object ids are cached, in each of two generations.
const maxRemembered = 250

// identities caches database ids by the clusters' first names.
type identities struct {
	clusters map[string]writtenCluster
	// objects are nil for a cluster that another process changed.
	objects recent.Map[string, *objectIDs]
}

type writtenCluster struct {
	id    int64
	named int64 // start of the last written name, in nanoseconds; 0 for none
	moved int64 // end of the last written place; 0 for none
}

func newIdentities() identities { return identities{clusters: map[string]writtenCluster{}} }

type objectIDs struct {
	cluster int64
	byName  map[string]int64
	gone    map[string]bool
	evident map[string]bool
	last    int64 // greatest id in the cluster's own range
}

func (of *objectIDs) end() int64 { return (of.cluster + 1) * ledger.MaxObjects }

func (ids *identities) forget(cluster string) {
	ids.objects.Put(cluster, nil)
	delete(ids.clusters, cluster)
}

// batchWriter writes one batch, and caches ids of revisions and messages meanwhile.
type batchWriter struct {
	session
	ids                 *identities
	revisions, messages map[string]int64
}

func newBatchWriter(s session, ids *identities) *batchWriter {
	return &batchWriter{s, ids, map[string]int64{}, map[string]int64{}}
}

func (w *batchWriter) findID(ctx context.Context, statement string, args ...any) (id int64, err error) {
	err = w.query(ctx, statement, args, func(scan scanFunc) error { return scan(&id) })
	return id, err
}

func (w *batchWriter) revisionID(ctx context.Context, text string) (int64, error) {
	id, known := w.revisions[text]
	if known || text == "" {
		return id, nil
	}
	id, err := w.findID(ctx, "revision_write", text, ledger.ParseRevision(text).Commit)
	w.revisions[text] = id
	return id, err
}

func (w *batchWriter) messageID(ctx context.Context, text string) (int64, error) {
	id, known := w.messages[text]
	if known || text == "" {
		return id, nil
	}
	id, err := w.findID(ctx, "message_write", text)
	w.messages[text] = id
	return id, err
}

func (w *batchWriter) clusterID(ctx context.Context, firstName string) (int64, error) {
	known := w.ids.clusters[firstName]
	if known.id > 0 {
		return known.id, nil
	}
	id, err := w.findID(ctx, "cluster_find", firstName)
	w.ids.clusters[firstName] = writtenCluster{id: id}
	return id, err
}

func (w *batchWriter) objectID(ctx context.Context, o ledger.Object) (id int64, of *objectIDs, err error) {
	of, err = w.findObjects(ctx, o.Cluster)
	if err != nil {
		return 0, of, err
	}
	id, known := of.byName[o.Name]
	switch {
	case !known:
		id, err = w.addObject(ctx, of, o.Name)
	case of.gone[o.Name]:
		delete(of.gone, o.Name)
		err = w.exec(ctx, "object_restore", id, of.cluster, o.Name)
		if err == nil {
			err = w.exec(ctx, "object_revive", id)
		}
	}
	return id, of, err
}

func (w *batchWriter) findObjects(ctx context.Context, cluster string) (*objectIDs, error) {
	of, _ := w.ids.objects.Find(cluster)
	if of != nil {
		return of, nil
	}
	err := w.loadObjects(ctx, []string{cluster})
	of, _ = w.ids.objects.Find(cluster)
	return of, err
}

func (w *batchWriter) loadObjects(ctx context.Context, clusters []string) error {
	loaded := map[int64]*objectIDs{}
	var asked []int64
	for _, cluster := range clusters {
		of, _ := w.ids.objects.Find(cluster)
		if of != nil {
			continue
		}
		id, err := w.clusterID(ctx, cluster)
		if err != nil {
			return err
		}
		of = &objectIDs{cluster: id, byName: map[string]int64{}, gone: map[string]bool{}, evident: map[string]bool{}, last: id*ledger.MaxObjects - 1}
		w.ids.objects.Put(cluster, of)
		loaded[id] = of
		asked = append(asked, id)
	}
	return w.queryEach(ctx, "objects_load", asked, func(scan scanFunc) error {
		var cluster, object int64
		var name string
		var gone, evident bool
		err := scan(&cluster, &object, &name, &gone, &evident)
		if err == nil {
			loaded[cluster].add(object, name, gone, evident)
		}
		return err
	})
}

func (of *objectIDs) add(id int64, name string, gone, evident bool) {
	of.byName[name] = id
	if gone {
		of.gone[name] = true
	}
	if evident {
		of.evident[name] = true
	}
	if id < of.end() {
		of.last = max(of.last, id)
	}
}

// overflow is the first id for objects beyond their cluster's range.
const overflow = 1 << 40

// addObject gives the objects of a cluster neighbouring ids, so that a batch touches few pages.
func (w *batchWriter) addObject(ctx context.Context, of *objectIDs, name string) (id int64, err error) {
	id = of.last + 1
	if id >= of.end() {
		id, err = w.findID(ctx, "object_next", int64(overflow))
	}
	if err == nil {
		err = w.exec(ctx, "object_write", id, of.cluster, name)
	}
	of.add(id, name, false, false)
	return id, err
}
