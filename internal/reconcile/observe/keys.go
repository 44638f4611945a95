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

// ErrEpochUnknown means that it is not known which key a cluster has: the base was not read yet, or
// what it says of the key cannot be read. No key is good then, because it may have been revoked.
var ErrEpochUnknown = errors.New("it is not known which key the cluster has")

// Epochs are those of the keys of clusters, as the base has them.
type Epochs struct {
	written map[string]ledger.Epoch // by cluster; those that are missing have never been renewed
	broken  map[string]string       // problems, by cluster
}

// ReadEpochs returns the epochs in what the base says. Of two for one cluster the later counts.
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

// KeyFile returns the file of the base that says which key a cluster has.
func KeyFile(cluster string) string { return path.Join(".fairlead", "clusters", cluster+".yaml") }

// Find returns the epoch of the key of a cluster. The error is ErrEpochUnknown if what the base says of
// it cannot be read.
func (e Epochs) Find(cluster string) (ledger.Epoch, error) {
	if problem, broken := e.broken[cluster]; broken {
		return ledger.Epoch{}, fmt.Errorf("%w: %s", ErrEpochUnknown, problem)
	}
	return e.written[cluster], nil
}

// KeyRing derives the keys by which clusters prove their names. Any number of goroutines may use it.
type KeyRing struct {
	secrets func() ([]string, error)
	mu      sync.RWMutex
	epochs  *Epochs // nil until they were read
}

// NewKeyRing returns a KeyRing. secrets returns the secrets that keys are derived from; without any,
// no cluster has a key.
func NewKeyRing(secrets func() ([]string, error)) *KeyRing { return &KeyRing{secrets: secrets} }

// SetEpochs has keys derived of other epochs from now on.
func (k *KeyRing) SetEpochs(e Epochs) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epochs = &e
}

// FindKeys returns the keys of a cluster that are good now; none if there are no secrets. The error is
// ErrEpochUnknown as long as no epochs were set.
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
