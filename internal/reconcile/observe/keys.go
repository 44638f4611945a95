package observe

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// ErrEpochUnknown means that the base's entry for a key is unread or invalid. No key is valid then,
// because it may have been revoked.
var ErrEpochUnknown = errors.New("it is not known which key the cluster has")

// Epochs has the epochs of keys in the base.
type Epochs struct {
	written map[string]ledger.Epoch // by cluster; missing ones were never renewed
	broken  map[string]string
}

// ReadEpochs reads the epochs in the base. For duplicates the later counts.
func ReadEpochs(base *model.Progress) Epochs {
	e := Epochs{map[string]ledger.Epoch{}, map[string]string{}}
	for _, k := range base.Keys {
		if known, twice := e.written[k.Name]; !twice || k.Epoch > known.Number {
			e.written[k.Name] = ledger.Epoch{Number: k.Epoch, Renewed: k.Renewed}
		}
	}
	for _, p := range base.Problems {
		named, ours := strings.CutPrefix(p.Subject, "ClusterKey/")
		if p.Warning {
			continue
		}
		if ours {
			e.broken[named] = p.String()
		}
		if path.Dir(p.Pos.File) == path.Dir(KeyFile("")) {
			e.broken[strings.TrimSuffix(path.Base(p.Pos.File), path.Ext(p.Pos.File))] = p.String()
		}
	}
	return e
}

// KeyFile returns the file of the base for a cluster's key.
func KeyFile(cluster string) string { return path.Join(".fairlead", "clusters", cluster+".yaml") }

// Find returns the epoch of a cluster's key, or ErrEpochUnknown.
func (e Epochs) Find(cluster string) (ledger.Epoch, error) {
	if problem, broken := e.broken[cluster]; broken {
		return ledger.Epoch{}, fmt.Errorf("%w: %s", ErrEpochUnknown, problem)
	}
	return e.written[cluster], nil
}

// KeyRing derives the keys of clusters. It is safe for concurrent use.
type KeyRing struct {
	secrets func() ([]string, error)
	mu      sync.RWMutex
	epochs  *Epochs // nil until read
}

// NewKeyRing returns a KeyRing. Without secrets, no cluster has a key.
func NewKeyRing(secrets func() ([]string, error)) *KeyRing { return &KeyRing{secrets: secrets} }

// SetEpochs replaces the epochs.
func (k *KeyRing) SetEpochs(e Epochs) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epochs = &e
}

// FindKeys returns the valid keys of a cluster; none without secrets. Before SetEpochs it returns
// ErrEpochUnknown.
func (k *KeyRing) FindKeys(cluster string, now time.Time) ([]string, error) {
	secrets, err := k.secrets()
	if err != nil || len(secrets) == 0 {
		return nil, err
	}
	k.mu.RLock()
	epochs := k.epochs
	k.mu.RUnlock()
	if epochs == nil {
		return nil, fmt.Errorf("%w: the control plane was not read yet", ErrEpochUnknown)
	}
	epoch, err := epochs.Find(cluster)
	if err != nil {
		return nil, err
	}
	return epoch.DeriveKeys(secrets, cluster, now)
}
