// Package config reads Fairlead's settings file, fairlead.yaml.
//
// What the package keeps true:
//   - Unknown and duplicate keys, and invalid values, are problems with lines; one run
//     finds all of them.
//   - [Settings] from [Load] or [Parse] are ready to use: with defaults, absolute paths
//     and readable secrets.
//   - No secret is in the file, a problem, an error or a log: the file has locations
//     ([SecretRef]), and a [Secret] prints as "[redacted]".
//   - A secret is used only for URLs below its remote's, by whole segments.
//
// docs/reference/settings.md and [Schema] describe the file; tests compare both with [Settings].
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

// maxSize bounds the settings file and each secret's file, in bytes.
const maxSize = 1 << 20

//go:embed settings.json
var schema string

// Schema returns the JSON Schema (draft 7) of the settings file.
func Schema() []byte { return []byte(schema) }

// Load reads the settings file at path. env is like os.Getenv. The Settings are nil if a problem
// stops. The error means that the file cannot be read or is over 1 MiB.
func Load(path string, env func(string) string) (*Settings, problem.List, error) {
	return loadSettings(path, env, func(problem.Problem) bool { return false })
}

// LoadForCommands is Load without problems of settings that only the daemon uses: webhooks, probes,
// ledger, web and signing.
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

// Parse reads the text of a settings file and the files that it names. Problems have the file name;
// relative paths start at dir. The Settings are nil if a problem stops.
func Parse(name string, data []byte, dir string, env func(string) string) (*Settings, problem.List) {
	s, problems := parseSettings(name, data, dir, env)
	if problems.Stops() {
		return nil, problems
	}
	return s, problems
}

// CheckFields returns the problems of a settings file for another machine: unknown fields and wrong types. What it names
// exists there.
func CheckFields(name string, data []byte) problem.List {
	r := &reader{file: name, lines: map[string]int{}}
	if root, ok := r.parseDocument(data); ok {
		r.decodeValue(root, reflect.ValueOf(defaultSettings()).Elem(), "")
	}
	return r.problems.Sorted()
}

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
