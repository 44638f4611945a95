package git_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// armored returns a key of OpenPGP as a file.
func armored(t *testing.T, kind string, write func(w *bytes.Buffer) error) []byte {
	t.Helper()
	var raw, text bytes.Buffer
	if err := write(&raw); err != nil {
		t.Fatal(err)
	}
	w, err := armor.Encode(&text, kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(raw.Bytes())
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// TestOwners: the signatures of Git itself, and ours, count for the address that their key is registered for.
func TestOwners(t *testing.T) {
	private, public := gittest.NewSSHKey(t)
	other, otherPublic := gittest.NewSSHKey(t)
	entity, err := openpgp.NewEntity("Alice", "", "alice@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	gpgPrivate := armored(t, openpgp.PrivateKeyType, func(w *bytes.Buffer) error { return entity.SerializePrivate(w, nil) })
	gpgPublic := armored(t, openpgp.PublicKeyType, func(w *bytes.Buffer) error { return entity.Serialize(w) })

	server := gittest.ServeGit(t)
	server.Create("people")
	work := server.Work(t, "people")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, private, 0o600); err != nil {
		t.Fatal(err)
	}
	work.Write("a", "1")
	gittest.Git(t, work.Dir, "add", "-A")
	gittest.Git(t, work.Dir, "-c", "gpg.format=ssh", "-c", "user.signingkey="+file, "commit", "-q", "-S", "--author", "Alice <alice@example.com>", "-m", "signed by Git\n\nwith a body")
	byGit := gittest.Commit(t, work.Dir, "HEAD")
	work.Write("a", "2")
	unsigned := work.Commit("not signed")
	repo, err := git.Open(work.Dir)
	if err != nil {
		t.Fatal(err)
	}
	signWith := func(make func([]byte, string) (sign.Signer, error), key []byte) (text []byte, signature string) {
		t.Helper()
		signer, err := make(key, "")
		if err != nil {
			t.Fatal(err)
		}
		text = []byte("tree 0\n\na text")
		signature, err = signer(text, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return text, signature
	}
	read := func(commit string) (text []byte, signature string) {
		t.Helper()
		text, signature, err := repo.ReadSignature(commit)
		if err != nil {
			t.Fatal(err)
		}
		return text, signature
	}
	now := time.Now()
	gitText, gitSignature := read(byGit)
	plainText, none := read(unsigned)
	gpgText, gpgSignature := signWith(sign.GPG, gpgPrivate)
	sshText, sshSignature := signWith(sign.SSH, other)
	for name, test := range map[string]struct {
		allowed   string
		gpg       []byte
		own       []byte
		text      []byte
		signature string
		address   string
		want      sign.Owner
		err       error
	}{
		"by Git":                  {allowed: "alice@example.com " + public, text: gitText, signature: gitSignature, want: sign.Someone},
		"a pattern":               {allowed: "*@example.com,!bob@example.com " + public, text: gitText, signature: gitSignature, want: sign.Someone},
		"a pattern that excludes": {allowed: "*@example.com,!ALICE@example.com " + public, text: gitText, signature: gitSignature, err: sign.ErrOtherKey},
		"another address":         {allowed: "alice@example.com " + public, text: gitText, signature: gitSignature, address: "bob@example.com", err: sign.ErrOtherKey},
		"another key":             {allowed: "alice@example.com " + otherPublic, text: gitText, signature: gitSignature, err: sign.ErrUnknownKey},
		"no key":                  {text: gitText, signature: gitSignature, err: sign.ErrUnknownKey},
		"expired":                 {allowed: `alice@example.com valid-before="20200101" ` + public, text: gitText, signature: gitSignature, err: sign.ErrBadKey},
		"not valid yet":           {allowed: `alice@example.com valid-after="29990101000000Z" ` + public, text: gitText, signature: gitSignature, err: sign.ErrBadKey},
		"valid now":               {allowed: `alice@example.com valid-after="20200101",valid-before="29990101" ` + public, text: gitText, signature: gitSignature, want: sign.Someone},
		"for files, not for Git":  {allowed: `alice@example.com namespaces="file" ` + public, text: gitText, signature: gitSignature, err: sign.ErrUnknownKey},
		"another text":            {allowed: "alice@example.com " + public, text: append(gitText[:len(gitText):len(gitText)], '!'), signature: gitSignature, err: sign.ErrMalformed},
		"not signed":              {allowed: "alice@example.com " + public, text: plainText, signature: none, err: sign.ErrUnsigned},
		"Fairlead":                {own: other, text: sshText, signature: sshSignature, want: sign.Own},
		"OpenPGP":                 {gpg: gpgPublic, text: gpgText, signature: gpgSignature, want: sign.Someone},
		"OpenPGP, another":        {gpg: gpgPublic, text: gpgText, signature: gpgSignature, address: "bob@example.com", err: sign.ErrOtherKey},
		"OpenPGP, another text":   {gpg: gpgPublic, text: []byte("x"), signature: gpgSignature, err: sign.ErrUnknownKey},
		"no signature at all":     {gpg: gpgPublic, text: gpgText, signature: "-----BEGIN", err: sign.ErrUnknownKey},
		"half a signature":        {own: other, text: sshText, signature: sshSignature[:120], err: sign.ErrMalformed},
		"far too long":            {own: other, text: sshText, signature: strings.Repeat("x", 1<<20), err: sign.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			var keys sign.Keys
			err := keys.AddAllowedSigners([]byte("# people\n\n" + test.allowed + "\n"))
			if test.gpg != nil {
				err = errors.Join(err, keys.AddGPG(test.gpg))
			}
			if test.own != nil {
				err = errors.Join(err, keys.AddOwnSSH(test.own, ""))
			}
			if err != nil {
				t.Fatal(err)
			}
			address := test.address
			if address == "" {
				address = "alice@example.com"
			}
			got, key, err := keys.FindOwner(test.text, test.signature, address, now)
			if got != test.want || !errors.Is(err, test.err) || (key == "") != (err != nil) {
				t.Errorf("the owner is %d (%v), want %d (%v)", got, err, test.want, test.err)
			}
		})
	}
}

// TestKeysRefused: a file with keys that cannot be read is refused, with the line.
func TestKeysRefused(t *testing.T) {
	_, public := gittest.NewSSHKey(t)
	for text, want := range map[string]string{
		"\nalice@example.com":                               "line 2: it has no key",
		"alice@example.com ssh-ed25519 AAAA":                "line 1: the key cannot be read",
		"alice@example.com cert-authority " + public:        "line 1: the option cert-authority is not supported",
		"alice@example.com valid-before=\"soon\" " + public: `line 1: "soon" is not a time`,
	} {
		var keys sign.Keys
		if err := keys.AddAllowedSigners([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	var keys sign.Keys
	if err := keys.AddGPG([]byte("no key")); err == nil {
		t.Error("text without an OpenPGP key is taken")
	}
	if err := keys.AddGPG([]byte(fmt.Sprintf("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n%s\n-----END PGP PUBLIC KEY BLOCK-----\n", "AAAA"))); err == nil {
		t.Error("a broken OpenPGP key is taken")
	}
}

// TestSeveralSignatures: of a commit with two signatures none counts.
func TestSeveralSignatures(t *testing.T) {
	server := gittest.ServeGit(t)
	server.Create("people")
	work := server.Work(t, "people")
	work.Write("a", "1")
	work.Commit("first")
	raw := gittest.Git(t, work.Dir, "cat-file", "commit", "HEAD") + "\n"
	raw = strings.Replace(raw, "\n\n", "\ngpgsig one\n 1\ngpgsig two\n 2\n\n", 1)
	file := filepath.Join(t.TempDir(), "commit")
	if err := os.WriteFile(file, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	id := gittest.Git(t, work.Dir, "hash-object", "-t", "commit", "-w", "--literally", file)
	repo, err := git.Open(work.Dir)
	if err != nil {
		t.Fatal(err)
	}
	text, signature, err := repo.ReadSignature(id)
	if err != nil || signature != "" || string(text) != raw {
		t.Errorf("the signature is %q (%v) of %q", signature, err, text)
	}
}
