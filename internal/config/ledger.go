package config

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// HasLedger reports whether the ledger records reports of clusters.
func (s *Settings) HasLedger() bool { return s.Ledger.Secret != nil }

// LedgerFile returns the file of the ledger.
func (s *Settings) LedgerFile() string { return filepath.Join(s.DataDir, "ledger.db") }

// LockFile returns the lock of the data folder, which one process at a time holds.
func (s *Settings) LockFile() string { return filepath.Join(s.DataDir, "lock") }

// LedgerMark returns the file that identifies the ledger's store.
func (s *Settings) LedgerMark() string { return filepath.Join(s.DataDir, "ledger.mark") }

// LedgerAddress returns the address of the ledger's database, with its password.
func (s *Settings) LedgerAddress() (string, error) {
	address, err := s.Ledger.Postgres.URL.Read()
	if err != nil {
		return "", fmt.Errorf("read the address of the ledger's database: %w", err)
	}
	return address.Reveal(), nil
}

// LedgerSecrets returns the secrets that clusters' keys derive from, newest first. It fails if none
// is readable, or one is too short.
func (s *Settings) LedgerSecrets() ([]string, error) {
	secrets, err := readSecrets(s.Ledger.Secret, s.Ledger.Previous)
	for _, secret := range secrets {
		if len(secret) < ledger.MinSecret {
			return nil, fmt.Errorf("read the secrets of the ledger: one has %s", describeLength(secret))
		}
	}
	return secrets, err
}

const day = 24 * time.Hour

func describeLength(secret string) string {
	return fmt.Sprintf("%d characters, and should have %d or more", len(secret), ledger.MinSecret)
}

func (c *checker) checkLedger(l *Ledger) {
	if c.isBroken("ledger") {
		return
	}
	c.checkKeep(l)
	if l.Secret == nil && l.Previous != nil {
		c.addProblem("ledger.previous", "write secret beside it, or remove it", "is there without a secret")
	}
	if l.Postgres != nil {
		if l.Secret == nil {
			c.addProblem("ledger.postgres", "write secret beside it, or remove it", "is there without a secret")
		}
		c.checkSecret("ledger.postgres.url", &l.Postgres.URL)
	}
	for path, ref := range map[string]*SecretRef{"ledger.secret": l.Secret, "ledger.previous": l.Previous} {
		c.checkSecret(path, ref)
		if ref == nil || !c.isGiven(path) || c.isBroken(path) {
			continue
		}
		secret, err := ref.Read()
		if err == nil && len(secret.Reveal()) < ledger.MinSecret {
			c.addProblem(path, "write random text into it, as openssl rand -base64 32 prints it", "has %s", describeLength(secret.Reveal()))
		}
	}
}

// checkKeep requires a day, because gates and the page look back for hours, and days are sums of
// spans and arrivals.
func (c *checker) checkKeep(l *Ledger) {
	if c.isGiven("ledger.keep") && l.Secret == nil {
		c.addProblem("ledger.keep", "write secret beside it, or remove it", "is there without a secret")
	}
	for _, k := range []struct {
		path  string
		value time.Duration
	}{{"ledger.keep.spans", l.Keep.Spans}, {"ledger.keep.arrivals", l.Keep.Arrivals}, {"ledger.keep.days", l.Keep.Days}} {
		switch {
		case c.isBroken(k.path) || c.isBroken("ledger.keep"):
		case k.value < day:
			c.addProblem(k.path, "write 1d or more", "%s is shorter than a day", text.FormatDuration(k.value))
		case k.path != "ledger.keep.days" && k.value > l.Keep.Days:
			c.addProblem(k.path, "write a longer time into ledger.keep.days, or a shorter one here", "is longer than ledger.keep.days, which is %d days", l.Keep.Days/day)
		}
	}
}
