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
	// keyLabel separates cluster keys from other values of the same secret.
	keyLabel = "fairlead cluster"
	keySize  = 32
	// MinSecret is in bytes: from one cluster's key, a shorter secret could be found by brute
	// force.
	MinSecret = 32
	// KeyOverlap is how long the previous key stays valid.
	KeyOverlap = 24 * time.Hour
)

// DeriveKey returns the key that proves a cluster's name in an epoch. Keys are pure functions and
// not stored. It fails for an invalid name or a short secret.
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

// ErrClusterName is the error for an invalid cluster name.
var ErrClusterName = errors.New("name a cluster")

// CheckClusterName returns an ErrClusterName for an invalid name.
func CheckClusterName(name string) error {
	if err := kubename.Check(name); err != nil {
		return fmt.Errorf("%w: %w", ErrClusterName, err)
	}
	return nil
}

// Epoch numbers the keys of a cluster. The zero Epoch is the first.
type Epoch struct {
	Number int
	// Renewed is the start of the epoch; zero for the first.
	Renewed time.Time
}

// Next returns the epoch after a renewal.
func (e Epoch) Next(now time.Time) Epoch {
	return Epoch{Number: e.Number + 1, Renewed: now.UTC().Truncate(time.Second)}
}

// DeriveKeys returns the valid keys for each secret: the epoch's and, during KeyOverlap, the
// previous one.
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
