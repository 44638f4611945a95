package git_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestSSHSigner has Git itself check the signature.
func TestSSHSigner(t *testing.T) {
	private, public := gittest.NewSSHKey(t)
	made, err := sign.SSH(private, "")
	if err != nil {
		t.Fatal(err)
	}
	dir, id := signedCommit(t, made)
	allowed := filepath.Join(t.TempDir(), "allowed")
	if err := os.WriteFile(allowed, []byte("fairlead@localhost "+public+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+allowed, "verify-commit", id)
}

func TestGPGSigner(t *testing.T) {
	entity, err := openpgp.NewEntity("Fairlead", "", "fairlead@localhost", nil)
	if err != nil {
		t.Fatal(err)
	}
	var key bytes.Buffer
	w, err := armor.Encode(&key, openpgp.PrivateKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := entity.SerializePrivate(w, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	made, err := sign.GPG(key.Bytes(), "")
	if err != nil {
		t.Fatal(err)
	}
	dir, id := signedCommit(t, made)
	object := gittest.Git(t, dir, "cat-file", "commit", id) + "\n"
	head, rest, ok := strings.Cut(object, "gpgsig ")
	signature, body, ok2 := strings.Cut(rest, "\n\nsubject")
	if !ok || !ok2 {
		t.Fatalf("the commit has no signature:\n%s", object)
	}
	signed := head + "\nsubject" + body
	signature = strings.ReplaceAll(signature, "\n ", "\n")
	if _, err := openpgp.CheckArmoredDetachedSignature(openpgp.EntityList{entity}, strings.NewReader(signed), strings.NewReader(signature), nil); err != nil {
		t.Errorf("the signature is not good: %v\n%s", err, object)
	}
}

// signedCommit makes a commit twice, to see that it is the same, and pushes it.
func signedCommit(t *testing.T, made git.Signer) (dir, id string) {
	t.Helper()
	server := gittest.ServeGit(t)
	r := remoteOf(t, server.Create("out"))
	c := commitOf(treeOf(t, map[string]string{"x": "1"}))
	c.Sign = made
	first, err := c.ID()
	if err != nil {
		t.Fatal(err)
	}
	id, err = push(t, r, "dev", "", c)
	if err != nil || id != first {
		t.Fatalf("the commit is %s (%v), and was %s", id, err, first)
	}
	gittest.Git(t, server.Dir("out"), "fsck", "--strict")
	return server.Dir("out"), id
}

func TestSignerRefused(t *testing.T) {
	if _, err := sign.SSH([]byte("no key"), ""); err == nil {
		t.Error("text that is no SSH key is taken")
	}
	if _, err := sign.GPG([]byte("no key"), ""); err == nil {
		t.Error("text that is no OpenPGP key is taken")
	}
}
