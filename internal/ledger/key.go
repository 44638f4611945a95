package ledger

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
)

const (
	// keyLabel keeps the keys of clusters apart from whatever else is derived from the same secret.
	keyLabel = "fairlead cluster"
	// keySize is the size of a key, in bytes.
	keySize = 32
	// MinSecret is the least length of a secret, in bytes: whoever has the key of one cluster could
	// find out a shorter one by trying.
	MinSecret = 32
	// KeyOverlap is how long the key before the current one is good.
	KeyOverlap = 24 * time.Hour
)

// DeriveKey returns the key by which a cluster proves its name in an epoch, as text. It is a function
// of its arguments, so that no key has to be stored. It fails if the name cannot be that of a cluster,
// or the secret is too short.
func DeriveKey(secret, cluster string, epoch int) (string, error) {
	if err := CheckClusterName(cluster); err != nil {
		return "", err
	}
	if len(secret) < MinSecret {
		return "", fmt.Errorf("derive the key of %s: the secret has %d characters, and should have %d or more", cluster, len(secret), MinSecret)
	}
	key, err := hkdf.Key(sha256.New, []byte(secret), []byte(keyLabel), cluster+"\x00"+strconv.Itoa(epoch), keySize)
	if err != nil {
		return "", fmt.Errorf("derive the key of %s: %w", cluster, err)
	}
	return base64.RawURLEncoding.EncodeToString(key), nil
}

// ErrClusterName is the error for a name that no cluster can have.
var ErrClusterName = errors.New("name a cluster")

// CheckClusterName returns why a cluster cannot have a name, which is an ErrClusterName.
func CheckClusterName(name string) error {
	if err := kubename.Check(name); err != nil {
		return fmt.Errorf("%w: %w", ErrClusterName, err)
	}
	return nil
}

// Epoch numbers the keys that a cluster has had. The zero Epoch is that of the first key.
type Epoch struct {
	Number int
	// Renewed is when the epoch began; zero for the first one.
	Renewed time.Time
}

// Next returns the epoch that begins when the key is renewed.
func (e Epoch) Next(now time.Time) Epoch {
	return Epoch{Number: e.Number + 1, Renewed: now.UTC().Truncate(time.Second)}
}

// DeriveKeys returns the keys of a cluster that are good at a time: that of the epoch, and for a day
// after it has begun that of the one before, with each of the secrets.
func (e Epoch) DeriveKeys(secrets []string, cluster string, now time.Time) ([]string, error) {
	first := e.Number
	if e.Number > 0 && now.Before(e.Renewed.Add(KeyOverlap)) {
		first--
	}
	var keys []string
	for _, secret := range secrets {
		for epoch := e.Number; epoch >= first; epoch-- {
			key, err := DeriveKey(secret, cluster, epoch)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
	}
	return keys, nil
}
