// Package deploytest holds what Fairlead is installed with to the program: the
// Dockerfile, the kustomization in deploy/kubernetes, the systemd unit and the
// configuration of releases.
//
// What its tests keep true: each file is good for what reads it; a path, a flag, a
// port or a name that two of the files have is the same in both; the settings that
// come with them are settings; nothing runs as root, or with rights that it does not
// need.
package deploytest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/config"
)

// What the files have in common.
const (
	port     = 8080
	user     = 65532 // "nonroot" of distroless images
	dataDir  = "/var/lib/fairlead"
	settings = "/etc/fairlead/fairlead.yaml"
)

// read gives a file by its path from the root of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkServe checks the arguments that the program is run with.
func checkServe(t *testing.T, args []string) {
	t.Helper()
	if want := []string{"serve", "--config", settings}; !slices.Equal(args, want) {
		t.Errorf("it runs with %q, want %q", args, want)
	}
}

// parse reads the text of a settings file in which the folder with the secrets is
// secrets, as if it were one with a token of this mode. The texts of the problems
// say secrets too.
func parse(t *testing.T, text, secrets string, mode os.FileMode) (s *config.Settings, problems []string) {
	t.Helper()
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("hunter2\n"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(token, mode); err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, secrets+"/", dir+"/")
	// Both the image and the unit have this variable and no home.
	env := func(name string) string { return map[string]string{"STATE_DIRECTORY": dataDir}[name] }
	s, list := config.Parse("fairlead.yaml", []byte(text), dir, env)
	for _, p := range list {
		problems = append(problems, strings.ReplaceAll(p.Summary, dir, secrets))
	}
	if s == nil {
		t.Fatalf("the settings cannot be used: %q", problems)
	}
	return s, problems
}
