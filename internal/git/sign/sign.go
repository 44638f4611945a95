// Package sign makes and checks SSH and OpenPGP signatures of commits.
//
// What the package keeps true: signatures are deterministic, so that a commit's id is a function of
// its content; other keys are refused. A signature counts only for its key's addresses.
package sign

import (
	"bytes"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/crypto/ssh"
)

// Signer signs the text of a commit.
type Signer = func(text []byte, when time.Time) (string, error)

// SSH returns a Signer for a private key (PEM), as Git signs with gpg.format = ssh. It refuses
// non-deterministic keys.
func SSH(key []byte, passphrase string) (Signer, error) {
	signer, err := parseSSH(key, passphrase)
	if err != nil {
		return nil, err
	}
	algorithm := signer.PublicKey().Type()
	switch algorithm {
	case ssh.KeyAlgoED25519:
	case ssh.KeyAlgoRSA:
		algorithm = ssh.KeyAlgoRSASHA512
	default:
		return nil, fmt.Errorf("a key of type %s cannot be used: it signs the same text differently each time; use ed25519 or RSA", algorithm)
	}
	withAlgorithm, ok := signer.(ssh.AlgorithmSigner)
	if !ok {
		return nil, errors.New("the SSH key cannot sign")
	}
	return func(text []byte, _ time.Time) (string, error) {
		sum := sha512.Sum512(text)
		signature, err := withAlgorithm.SignWithAlgorithm(rand.Reader, signedText(sshHash, sum[:]), algorithm)
		if err != nil {
			return "", err
		}
		return armorSignature(signer.PublicKey(), signature), nil
	}, nil
}

func parseSSH(key []byte, passphrase string) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(key)
	if passphrase != "" {
		signer, err = ssh.ParsePrivateKeyWithPassphrase(key, []byte(passphrase))
	}
	if err != nil {
		return nil, fmt.Errorf("read the SSH key: %w", err)
	}
	return signer, nil
}

// The format is in PROTOCOL.sshsig of OpenSSH.
const (
	sshMagic     = "SSHSIG"
	sshVersion   = 1
	sshNamespace = "git"
	sshHash      = "sha512"
	armourWidth  = 70
)

func armorSignature(key ssh.PublicKey, signature *ssh.Signature) string {
	blob := append([]byte(sshMagic), ssh.Marshal(sshEnvelope{sshVersion, string(key.Marshal()), sshNamespace, "", sshHash, string(ssh.Marshal(signature))})...)
	text := base64.StdEncoding.EncodeToString(blob)
	var b strings.Builder
	b.WriteString(sshBegin + "\n")
	for line := range slices.Chunk([]byte(text), armourWidth) {
		b.WriteString(string(line) + "\n")
	}
	return b.String() + sshEnd + "\n"
}

// GPG returns a Signer for the first private key of an armored OpenPGP key.
func GPG(key []byte, passphrase string) (Signer, error) {
	keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(key))
	if err != nil {
		return nil, fmt.Errorf("read the OpenPGP key: %w", err)
	}
	if len(keys) == 0 || keys[0].PrivateKey == nil {
		return nil, errors.New("read the OpenPGP key: there is no private key in it")
	}
	signer := keys[0]
	if err := signer.DecryptPrivateKeys([]byte(passphrase)); err != nil {
		return nil, fmt.Errorf("read the OpenPGP key: %w", err)
	}
	made := signer.PrimaryKey.CreationTime
	for _, sub := range signer.Subkeys {
		if sub.PublicKey.CreationTime.After(made) {
			made = sub.PublicKey.CreationTime
		}
	}
	no := false
	return func(text []byte, when time.Time) (string, error) {
		var b strings.Builder
		// Deterministic: the commit's time and no salt.
		if when.Before(made) { // a key cannot sign before its creation
			when = made
		}
		settings := &packet.Config{Time: func() time.Time { return when }, NonDeterministicSignaturesViaNotation: &no}
		if err := openpgp.ArmoredDetachSign(&b, signer, bytes.NewReader(text), settings); err != nil {
			return "", err
		}
		return b.String() + "\n", nil
	}, nil
}
