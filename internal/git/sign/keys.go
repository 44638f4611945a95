package sign

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/crypto/ssh"
)

// Keys are public keys and the addresses that they sign for.
type Keys struct {
	ssh []sshSigner
	gpg []gpgSigner
}

type sshSigner struct {
	key          ssh.PublicKey
	own          bool
	id           string
	patterns     []string
	after, until time.Time // zero for no bound
}

// gpgSigner signs for the addresses of its user ids.
type gpgSigner struct {
	entity *openpgp.Entity
	own    bool
}

// Owner is the owner of a signing key.
type Owner int

// The owners of keys.
const (
	Nobody  Owner = iota
	Own           // Fairlead, for everyone who signed in
	Someone       // the person with the commit's address
)

// Errors of signatures that do not count.
var (
	ErrUnsigned   = errors.New("is in a commit without a signature")
	ErrUnknownKey = errors.New("is signed by a key that is not among the trusted ones")
	ErrOtherKey   = errors.New("is signed by the key of another person")
	ErrBadKey     = errors.New("is signed by a key that has expired, or is not valid yet")
	ErrMalformed  = errors.New("has a signature that does not match")
)

// IsEmpty reports whether there is no key.
func (k Keys) IsEmpty() bool { return len(k.ssh) == 0 && len(k.gpg) == 0 }

// AddOwnSSH adds the public part of Fairlead's own private key.
func (k *Keys) AddOwnSSH(key []byte, passphrase string) error {
	signer, err := parseSSH(key, passphrase)
	if err == nil {
		k.ssh = append(k.ssh, sshSigner{key: signer.PublicKey(), id: ssh.FingerprintSHA256(signer.PublicKey()), own: true})
	}
	return err
}

// AddOwnGPG adds the public part of Fairlead's own private key.
func (k *Keys) AddOwnGPG(key []byte) error {
	entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(key))
	if err != nil || len(entities) == 0 {
		return errors.Join(errors.New("read the OpenPGP key"), err)
	}
	k.gpg = append(k.gpg, gpgSigner{entities[0], true})
	return nil
}

// AddGPG adds armored OpenPGP public keys of people.
func (k *Keys) AddGPG(text []byte) error {
	const begin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	blocks := strings.Split(string(text), begin)
	if len(blocks) < 2 {
		return errors.New("there is no armored OpenPGP public key in it")
	}
	for i, block := range blocks[1:] {
		entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(begin + block))
		if err != nil {
			return fmt.Errorf("key %d cannot be read: %w", i+1, err)
		}
		for _, e := range entities {
			if len(addressesOf(e)) == 0 {
				return fmt.Errorf("key %d has no address", i+1)
			}
			k.gpg = append(k.gpg, gpgSigner{entity: e})
		}
	}
	return nil
}

// AddAllowedSigners adds SSH keys of people in the ALLOWED SIGNERS format of ssh-keygen(1), without
// certificates.
func (k *Keys) AddAllowedSigners(text []byte) error {
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		one, isGit, err := parseAllowedSigner(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		if isGit {
			k.ssh = append(k.ssh, one)
		}
	}
	return nil
}

func parseAllowedSigner(line string) (one sshSigner, isGit bool, err error) {
	principals, rest, found := strings.Cut(line, " ")
	if !found {
		return one, false, errors.New("it has no key after the addresses")
	}
	var options []string
	one.key, _, options, _, err = ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil {
		return one, false, fmt.Errorf("the key cannot be read: %w", err)
	}
	if _, isCertificate := one.key.(*ssh.Certificate); isCertificate {
		return one, false, errors.New("certificates are not supported")
	}
	one.id, one.patterns = ssh.FingerprintSHA256(one.key), strings.Split(strings.Trim(principals, `"`), ",")
	isGit = true
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		value = strings.Trim(value, `"`)
		switch strings.ToLower(name) {
		case "namespaces":
			isGit = slices.ContainsFunc(strings.Split(value, ","), func(pattern string) bool { return matches(pattern, sshNamespace) })
		case "valid-after":
			one.after, err = parseSignerTime(value)
		case "valid-before":
			one.until, err = parseSignerTime(value)
		default:
			err = fmt.Errorf("the option %s is not supported", name)
		}
		if err != nil {
			return one, false, err
		}
	}
	return one, isGit, nil
}

func parseSignerTime(value string) (time.Time, error) {
	digits := strings.TrimSuffix(value, "Z")
	const layout = "20060102150405"
	if len(digits) < 8 || len(digits) > len(layout) {
		return time.Time{}, fmt.Errorf("%q is not a time", value)
	}
	t, err := time.Parse(layout[:len(digits)], digits)
	if err != nil {
		return t, fmt.Errorf("%q is not a time", value)
	}
	return t, nil
}

func matches(pattern, address string) bool {
	ok, err := path.Match(strings.NewReplacer(`\`, `\\`, "[", `\[`).Replace(strings.ToLower(pattern)), strings.ToLower(address))
	return err == nil && ok
}

func (s sshSigner) signsFor(address string) bool {
	found := false
	for _, p := range s.patterns {
		if rest, negated := strings.CutPrefix(p, "!"); negated && matches(rest, address) {
			return false
		}
		found = found || matches(p, address)
	}
	return found
}

// KeysOf returns the sorted fingerprints of keys that name an address literally.
func (k Keys) KeysOf(address string) []string {
	var all []string
	isAddress := func(a string) bool { return strings.EqualFold(a, address) }
	for _, s := range k.ssh {
		if slices.ContainsFunc(s.patterns, isAddress) {
			all = append(all, s.id)
		}
	}
	for _, s := range k.gpg {
		if !s.own && slices.ContainsFunc(addressesOf(s.entity), isAddress) {
			all = append(all, fingerprintOf(s.entity))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func fingerprintOf(e *openpgp.Entity) string { return hex.EncodeToString(e.PrimaryKey.Fingerprint) }

// FindOwner returns the owner and fingerprint of the key that signed a commit's text, for the
// author's address. The error is one of this package's.
func (k Keys) FindOwner(text []byte, signature, address string, now time.Time) (owner Owner, key string, err error) {
	switch {
	case signature == "":
		return Nobody, "", ErrUnsigned
	case strings.HasPrefix(signature, sshBegin):
		return k.findSSH(text, signature, address, now)
	case len(signature) > maxSignature:
		return Nobody, "", ErrMalformed
	default:
		return k.findGPG(text, signature, address, now)
	}
}

func (k Keys) findSSH(text []byte, signature, address string, now time.Time) (Owner, string, error) {
	key, err := verifySSH(text, signature)
	if err != nil {
		return Nobody, "", err
	}
	why := ErrUnknownKey
	for _, s := range k.ssh {
		switch {
		case !bytes.Equal(s.key.Marshal(), key.Marshal()):
		case s.own:
			return Own, s.id, nil
		case !s.signsFor(address):
			why = ErrOtherKey
		case now.Before(s.after) || !s.until.IsZero() && !now.Before(s.until):
			why = ErrBadKey
		default:
			return Someone, s.id, nil
		}
	}
	return Nobody, "", why
}

func (k Keys) findGPG(text []byte, signature, address string, now time.Time) (Owner, string, error) {
	why := ErrUnknownKey
	settings := &packet.Config{Time: func() time.Time { return now }}
	for _, s := range k.gpg {
		_, err := openpgp.CheckArmoredDetachedSignature(openpgp.EntityList{s.entity}, bytes.NewReader(text), strings.NewReader(signature), settings)
		isAddress := func(a string) bool { return strings.EqualFold(a, address) }
		switch {
		case err == nil && s.own:
			return Own, fingerprintOf(s.entity), nil
		case err == nil && slices.ContainsFunc(addressesOf(s.entity), isAddress):
			return Someone, fingerprintOf(s.entity), nil
		case err == nil:
			why = ErrOtherKey
		case err != nil && strings.Contains(err.Error(), "expired"):
			why = ErrBadKey
		}
	}
	return Nobody, "", why
}

func addressesOf(e *openpgp.Entity) []string {
	var all []string
	for _, id := range e.Identities {
		if len(id.Revocations) == 0 && id.UserId != nil && id.UserId.Email != "" {
			all = append(all, id.UserId.Email)
		}
	}
	return all
}
