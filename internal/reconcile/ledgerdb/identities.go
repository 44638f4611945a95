package ledgerdb

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// identities are the ids that were looked up already.
type identities struct {
	clusters map[string]int64            // by their first names
	objects  map[string]map[string]int64 // by the same, and their own
}

func newIdentities() identities {
	return identities{map[string]int64{}, map[string]map[string]int64{}}
}

// forget forgets the ids of a cluster and its objects.
func (ids *identities) forget(cluster string) {
	delete(ids.clusters, cluster)
	delete(ids.objects, cluster)
}

func (ids *identities) addObject(o ledger.Object, id int64) {
	if ids.objects[o.Cluster] == nil {
		ids.objects[o.Cluster] = map[string]int64{}
	}
	ids.objects[o.Cluster][o.Name] = id
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

// findID returns the number that a statement returns, and false for none.
func (w *batchWriter) findID(ctx context.Context, statement string, args ...any) (id int64, found bool, err error) {
	err = w.query(ctx, statement, args, func(scan scanFunc) error {
		found = true
		return scan(&id)
	})
	return id, found, err
}

// revisionID returns the id of a revision, which is added if it is new; nil for "".
func (w *batchWriter) revisionID(ctx context.Context, text string) (any, error) {
	return w.textID(ctx, w.revisions, "revision_write", text, text, ledger.ParseRevision(text).Commit)
}

// messageID returns the id of a message, which is added if it is new; nil for "".
func (w *batchWriter) messageID(ctx context.Context, text string) (any, error) {
	return w.textID(ctx, w.messages, "message_write", text, text)
}

func (w *batchWriter) textID(ctx context.Context, known map[string]int64, statement, text string, args ...any) (any, error) {
	if text == "" {
		return nil, nil
	}
	if id, ok := known[text]; ok {
		return id, nil
	}
	id, _, err := w.findID(ctx, statement, args...)
	if err == nil {
		known[text] = id
	}
	return id, err
}

// clusterID returns the id of a cluster that was written.
func (w *batchWriter) clusterID(ctx context.Context, firstName string) (int64, error) {
	if id, ok := w.ids.clusters[firstName]; ok {
		return id, nil
	}
	id, _, err := w.findID(ctx, "cluster_find", firstName)
	if err == nil {
		w.ids.clusters[firstName] = id
	}
	return id, err
}

// objectID returns the id of an object, which is added if it is new. The objects of a cluster are
// neighbours, so that a batch touches few pages.
func (w *batchWriter) objectID(ctx context.Context, o ledger.Object) (int64, error) {
	if id, ok := w.ids.objects[o.Cluster][o.Name]; ok {
		return id, nil
	}
	cluster, err := w.clusterID(ctx, o.Cluster)
	if err != nil {
		return 0, err
	}
	id, found, err := w.findID(ctx, "object_find", cluster, o.Name)
	switch {
	case err != nil:
		return 0, err
	case found:
		err = w.exec(ctx, "object_revive", id)
	default:
		id, err = w.addObject(ctx, cluster, o.Name)
	}
	if err == nil {
		w.ids.addObject(o, id)
	}
	return id, err
}

// overflow is where the ids of objects begin whose cluster has had more objects than it may have at a
// time.
const overflow = 1 << 40

func (w *batchWriter) addObject(ctx context.Context, cluster int64, name string) (int64, error) {
	id, _, err := w.findID(ctx, "object_next", cluster*ledger.MaxObjects, (cluster+1)*ledger.MaxObjects)
	if err == nil && id >= (cluster+1)*ledger.MaxObjects {
		id, _, err = w.findID(ctx, "object_next", overflow, 2*overflow)
	}
	if err != nil {
		return 0, err
	}
	return id, w.exec(ctx, "object_write", id, cluster, name)
}
