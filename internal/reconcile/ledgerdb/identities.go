package ledgerdb

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// maxRemembered is of how many clusters the ids of objects are remembered, apart from those that were
// written before.
const maxRemembered = 250

// identities are the ids of clusters, and those of the objects of clusters that were written lately, by the
// first names of the clusters.
type identities struct {
	clusters map[string]writtenCluster
	// objects are nil for a cluster whose objects were changed by another process.
	objects recent.Map[string, *objectIDs]
}

// writtenCluster is a cluster that was written.
type writtenCluster struct {
	id    int64
	named int64 // since when it has the last of its names that is written, in nanoseconds; 0 if none is
	moved int64 // when it left the last of the places that are written; 0 if none is
}

func newIdentities() identities { return identities{clusters: map[string]writtenCluster{}} }

// objectIDs are the ids of the objects of a cluster.
type objectIDs struct {
	cluster int64
	byName  map[string]int64
	gone    map[string]bool // those that the cluster no longer has
	evident map[string]bool // those that have rows in evidence
	last    int64           // the greatest among the ids that the cluster has for itself
}

// end is after the ids that the cluster has for itself.
func (of *objectIDs) end() int64 { return (of.cluster + 1) * ledger.MaxObjects }

// forget forgets the ids of a cluster and its objects.
func (ids *identities) forget(cluster string) {
	ids.objects.Put(cluster, nil)
	delete(ids.clusters, cluster)
}

// batchWriter writes one batch. The ids of revisions and messages are remembered for as long.
type batchWriter struct {
	session
	ids                 *identities
	revisions, messages map[string]int64
}

func newBatchWriter(s session, ids *identities) *batchWriter {
	return &batchWriter{s, ids, map[string]int64{}, map[string]int64{}}
}

// findID returns the number that a statement returns; 0 for none.
func (w *batchWriter) findID(ctx context.Context, statement string, args ...any) (id int64, err error) {
	err = w.query(ctx, statement, args, func(scan scanFunc) error { return scan(&id) })
	return id, err
}

// revisionID returns the id of a revision, which is added if it is new; 0 for "".
func (w *batchWriter) revisionID(ctx context.Context, text string) (int64, error) {
	id, known := w.revisions[text]
	if known || text == "" {
		return id, nil
	}
	id, err := w.findID(ctx, "revision_write", text, ledger.ParseRevision(text).Commit)
	w.revisions[text] = id
	return id, err
}

// messageID returns the id of a message, which is added if it is new; 0 for "".
func (w *batchWriter) messageID(ctx context.Context, text string) (int64, error) {
	id, known := w.messages[text]
	if known || text == "" {
		return id, nil
	}
	id, err := w.findID(ctx, "message_write", text)
	w.messages[text] = id
	return id, err
}

// clusterID returns the id of a cluster that was written.
func (w *batchWriter) clusterID(ctx context.Context, firstName string) (int64, error) {
	known := w.ids.clusters[firstName]
	if known.id > 0 {
		return known.id, nil
	}
	id, err := w.findID(ctx, "cluster_find", firstName)
	w.ids.clusters[firstName] = writtenCluster{id: id}
	return id, err
}

// objectID returns the id of an object, which is added if it is new, and revived if it was gone, and
// those of its cluster.
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

// findObjects returns the ids of the objects of a cluster.
func (w *batchWriter) findObjects(ctx context.Context, cluster string) (*objectIDs, error) {
	of, _ := w.ids.objects.Find(cluster)
	if of != nil {
		return of, nil
	}
	err := w.loadObjects(ctx, []string{cluster})
	of, _ = w.ids.objects.Find(cluster)
	return of, err
}

// loadObjects reads the ids of the objects of clusters that are not remembered.
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

// overflow is where the ids of objects begin whose cluster has had more objects than it may have at a
// time.
const overflow = 1 << 40

// addObject adds an object of a cluster. The objects of a cluster are neighbours, so that a batch touches
// few pages.
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
