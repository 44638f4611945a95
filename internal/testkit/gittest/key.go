package gittest

import (
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// NewSSHKey makes a key of SSH, and returns its private part in OpenSSH's form, and its public part as a line.
func NewSSHKey(t testing.TB) (private []byte, public string) {
	t.Helper()
	signer, block, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}
