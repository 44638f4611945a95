package loop

import (
	"fmt"
	"os"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/sign"
)

// NewSigner returns what signs commits as the settings say; nil if they do not.
func NewSigner(s *config.Signing) (git.Signer, error) {
	if s == nil {
		return nil, nil
	}
	key, passphrase, err := readSigningKey(s)
	if err != nil {
		return nil, err
	}
	if s.SSH != nil {
		return sign.SSH(key, passphrase)
	}
	return sign.GPG(key, passphrase)
}

// NewTrustedKeys returns the keys whose signatures prove whose approvals are: Fairlead's own one, and those
// of the people that the settings name.
func NewTrustedKeys(s *config.Settings) (sign.Keys, error) {
	var keys sign.Keys
	if s.Signing != nil {
		key, passphrase, err := readSigningKey(s.Signing)
		switch {
		case err != nil:
		case s.Signing.SSH != nil:
			err = keys.AddOwnSSH(key, passphrase)
		default:
			err = keys.AddOwnGPG(key)
		}
		if err != nil {
			return keys, err
		}
	}
	for _, of := range []struct {
		file string
		add  func([]byte) error
	}{{s.TrustedSigners.SSH, keys.AddAllowedSigners}, {s.TrustedSigners.GPG, keys.AddGPG}} {
		if of.file == "" {
			continue
		}
		text, err := os.ReadFile(of.file)
		if err != nil {
			return keys, fmt.Errorf("read the keys of trusted signers: %w", err)
		}
		err = of.add(text)
		if err != nil {
			return keys, fmt.Errorf("read the keys of trusted signers in %s: %w", of.file, err)
		}
	}
	return keys, nil
}

func readSigningKey(s *config.Signing) (key []byte, passphrase string, err error) {
	of := s.SSH
	if of == nil {
		of = s.GPG
	}
	text, err := of.Key.Read()
	if err != nil {
		return nil, "", fmt.Errorf("read the signing key: %w", err)
	}
	if of.Passphrase != nil {
		secret, err := of.Passphrase.Read()
		if err != nil {
			return nil, "", fmt.Errorf("read the signing key's passphrase: %w", err)
		}
		passphrase = secret.Reveal()
	}
	return []byte(text.Reveal() + "\n"), passphrase, nil
}
