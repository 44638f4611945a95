package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
)

// TestWebhookSecrets changes secrets while they are in use.
func TestWebhookSecrets(t *testing.T) {
	dir := t.TempDir()
	next, previous := filepath.Join(dir, "next"), filepath.Join(dir, "previous")
	write(t, next, "swallow\n")
	write(t, previous, "hunter2\n")
	s, problems := config.Parse("fairlead.yaml", []byte(required+"webhooks: {gitea: {secret: {file: next}, previous: {file: previous}}}"), dir, environment)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	check := func(forge string, want ...string) {
		t.Helper()
		got, err := s.WebhookSecrets(forge)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", forge, err, diff)
		}
	}
	check("github")
	check("nothing")
	check("gitea", "swallow", "hunter2")
	write(t, next, "tern")
	check("gitea", "tern", "hunter2")
	remove(t, previous)
	check("gitea", "tern")
	remove(t, next)
	if got, err := s.WebhookSecrets("gitea"); err == nil || got != nil {
		t.Errorf("without the files the secrets are %q", got)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestLedgerSecrets changes secrets while they are in use, also to one that is too short.
func TestLedgerSecrets(t *testing.T) {
	dir := t.TempDir()
	next, previous := filepath.Join(dir, "next"), filepath.Join(dir, "previous")
	write(t, next, longSecret+"\n")
	write(t, previous, longSecret+"2")
	s, problems := config.Parse("fairlead.yaml", []byte(required+"ledger: {secret: {file: next}, previous: {file: previous}}"), dir, environment)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	check := func(failure string, want ...string) {
		t.Helper()
		got, err := s.LedgerSecrets()
		if diff := cmp.Diff(want, got); diff != "" || (err != nil) != (failure != "") || err != nil && !strings.Contains(err.Error(), failure) {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	check("", longSecret, longSecret+"2")
	write(t, previous, longSecret[1:])
	check("one has 31 characters, and should have 32 or more")
	remove(t, previous)
	check("", longSecret)
	remove(t, next)
	check("no such file")
	s.Ledger = config.Ledger{}
	check("")
}
