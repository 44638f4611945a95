package git

import (
	"crypto/ed25519"
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/ssh"
)

// TestSSHKey: a key with a passphrase is read once, and one that has been replaced is read again.
func TestSSHKey(t *testing.T) {
	credentials := func(seed byte, passphrase string) Credentials {
		key := ed25519.NewKeyFromSeed(append(make([]byte, ed25519.SeedSize-1), seed))
		block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte("right"))
		if err != nil {
			t.Fatal(err)
		}
		return Credentials{Key: pem.EncodeToMemory(block), Passphrase: passphrase}
	}
	var last sshKey
	one, other := credentials(1, "right"), credentials(2, "right")
	read := func(c Credentials) ssh.Signer {
		t.Helper()
		signer, err := last.read(c)
		if err != nil {
			t.Fatal(err)
		}
		return signer
	}
	first := read(one)
	if read(one) != first {
		t.Error("the same key was read twice")
	}
	second := read(other)
	if string(second.PublicKey().Marshal()) == string(first.PublicKey().Marshal()) {
		t.Error("the key that was replaced is still used")
	}
	other.Passphrase = "wrong"
	if _, err := last.read(other); err == nil {
		t.Error("a key was read with a wrong passphrase")
	}
	other.Passphrase = "right"
	if read(other) != second {
		t.Error("the key was forgotten for a wrong passphrase")
	}
}
