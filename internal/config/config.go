// Package config reads Fairlead's settings file, fairlead.yaml: what the process
// needs and the fleet does not know.
//
// What the package keeps true:
//   - The file is read strictly: a key that is unknown or given twice, and a value of
//     the wrong type or outside its bounds, is a problem with its line; all problems
//     are found in one run.
//   - A [Settings] that [Load] or [Parse] returns is ready to use: defaults are
//     filled in, paths are joined to the folder of the file, and every secret could
//     be read.
//   - No secret is in the file, and none is in a problem, an error or a log: the file
//     says where a secret is ([SecretRef]), and a [Secret] prints as "[redacted]".
//   - A secret is for the URLs that begin with its remote's, segment by segment, and
//     for no others.
//
// docs/reference/settings.md describes the file, and [Schema] is its JSON Schema; tests hold
// both to [Settings].
package config

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// maxSize bounds the settings file and each file that has a secret, in bytes.
const maxSize = 1 << 20

//go:embed settings.json
var schema string

// Schema returns the JSON Schema (draft 7) of the settings file, for editors.
func Schema() []byte { return []byte(schema) }

// Load reads the settings file at path. env looks up environment
// variables, as os.Getenv does. The Settings are nil if one of the problems stops. The error
// is not nil if the file cannot be read, or is over 1 MiB.
func Load(path string, env func(string) string) (*Settings, problem.List, error) {
	return loadSettings(path, env, func(problem.Problem) bool { return false })
}

// LoadForCommands is Load for the commands of people. It leaves out problems with what only the
// daemon uses: the secrets of webhooks, of probes, of the ledger, of the page, and of signing.
func LoadForCommands(path string, env func(string) string) (*Settings, problem.List, error) {
	return loadSettings(path, env, func(p problem.Problem) bool {
		return strings.HasPrefix(p.Subject, "webhooks.") || strings.HasPrefix(p.Subject, "probes[") || strings.HasPrefix(p.Subject, "ledger.") || strings.HasPrefix(p.Subject, "web.") || strings.HasPrefix(p.Subject, "signing.")
	})
}

func loadSettings(path string, env func(string) string, leaveOut func(problem.Problem) bool) (*Settings, problem.List, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the settings: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, nil, fmt.Errorf("read the settings: %w", err)
	}
	settings, problems := parseSettings(path, data, dir, env)
	problems = slices.DeleteFunc(problems, leaveOut)
	if problems.Stops() {
		settings = nil
	}
	return settings, problems, nil
}

// Parse reads the text of a settings file. Problems name the file as name; relative
// paths count from the folder dir; env looks up environment variables. It looks at the
// files that the settings name. The Settings are nil if one of the problems stops.
func Parse(name string, data []byte, dir string, env func(string) string) (*Settings, problem.List) {
	s, problems := parseSettings(name, data, dir, env)
	if problems.Stops() {
		return nil, problems
	}
	return s, problems
}

// parseSettings returns the settings that could be read, whatever the problems.
func parseSettings(name string, data []byte, dir string, env func(string) string) (*Settings, problem.List) {
	s := defaultSettings()
	r := &reader{file: name, lines: map[string]int{}}
	if root, ok := r.parseDocument(data); ok {
		r.decodeValue(root, reflect.ValueOf(s).Elem(), "")
		c := &checker{reader: r, dir: dir, env: env}
		c.checkSettings(s)
	}
	return s, r.problems.Sorted()
}

// readBounded reads a file of at most maxSize bytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("%s is over 1 MiB", path)
	}
	return data, err
}
