package sign

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"strings"

	"golang.org/x/crypto/ssh"
)

const (
	sshBegin = "-----BEGIN SSH SIGNATURE-----"
	sshEnd   = "-----END SSH SIGNATURE-----"
)

const maxSignature = 32 << 10

type sshEnvelope struct {
	Version                                   uint32
	Key, Namespace, Reserved, Hash, Signature string
}

// verifySSH accepts only Git's namespace.
func verifySSH(text []byte, signature string) (ssh.PublicKey, error) {
	armored, found := strings.CutSuffix(strings.TrimSpace(signature), sshEnd)
	if !found || len(signature) > maxSignature {
		return nil, ErrMalformed
	}
	encoded := strings.Join(strings.Fields(strings.TrimPrefix(armored, sshBegin)), "")
	blob, err := base64.StdEncoding.DecodeString(encoded)
	rest, isSSH := strings.CutPrefix(string(blob), sshMagic)
	var e sshEnvelope
	if err != nil || !isSSH || ssh.Unmarshal([]byte(rest), &e) != nil || e.Version != sshVersion || e.Namespace != sshNamespace {
		return nil, ErrMalformed
	}
	key, err := ssh.ParsePublicKey([]byte(e.Key))
	if err != nil {
		return nil, ErrMalformed
	}
	var inner ssh.Signature
	if ssh.Unmarshal([]byte(e.Signature), &inner) != nil || inner.Format == ssh.KeyAlgoRSA { // uses SHA-1
		return nil, ErrMalformed
	}
	var sum []byte
	switch e.Hash {
	case "sha256":
		digest := sha256.Sum256(text)
		sum = digest[:]
	case sshHash:
		digest := sha512.Sum512(text)
		sum = digest[:]
	default:
		return nil, ErrMalformed
	}
	if key.Verify(signedText(e.Hash, sum), &inner) != nil {
		return nil, ErrMalformed
	}
	return key, nil
}

func signedText(hash string, sum []byte) []byte {
	return append([]byte(sshMagic), ssh.Marshal(struct{ Namespace, Reserved, Hash, Sum string }{sshNamespace, "", hash, string(sum)})...)
}
