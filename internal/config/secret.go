package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
)

const redacted = "[redacted]"

// Secret is a confidential text. Printing, logging and encoding it gives "[redacted]". The zero
// value is empty.
type Secret struct {
	// A pointer, because fmt does not call methods of values in unexported fields: it prints the
	// address.
	value *string
}

// NewSecret makes a text a secret.
func NewSecret(value string) Secret { return Secret{&value} }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// GoString is for %#v.
func (s Secret) GoString() string { return redacted }

// Format is for every verb of fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText is for encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON is for encoding/json.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue is for log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// SecretRef is the location of a secret; one field is set.
type SecretRef struct {
	File string `yaml:"file"`
	Env  string `yaml:"env"`

	env func(string) string
}

var (
	errEmpty = errors.New("it is empty")
	errUnset = errors.New("it is not set")
)

// Read returns the current secret without a final newline. It fails for an empty secret; the error
// does not quote it.
func (r SecretRef) Read() (Secret, error) {
	if r.File == "" {
		lookup := r.env
		if lookup == nil {
			lookup = os.Getenv
		}
		if value := trimNewline(lookup(r.Env)); value != "" {
			return NewSecret(value), nil
		}
		return Secret{}, fmt.Errorf("read the environment variable %s: %w", r.Env, errUnset)
	}
	data, err := readBounded(r.File)
	if err != nil {
		return Secret{}, err
	}
	if value := trimNewline(string(data)); value != "" {
		return NewSecret(value), nil
	}
	return Secret{}, fmt.Errorf("read %s: %w", r.File, errEmpty)
}

func trimNewline(s string) string {
	if line, ok := strings.CutSuffix(s, "\r\n"); ok {
		return line
	}
	return strings.TrimSuffix(s, "\n")
}

func (c *checker) checkSecret(path string, r *SecretRef) {
	switch {
	case r == nil || !c.isGiven(path) || c.isBroken(path) || c.isBroken(path+".file") || c.isBroken(path+".env"):
		return
	case r.File != "" && r.Env != "":
		c.addProblem(path, "remove file or env", "has both file and env")
		return
	case r.File == "" && r.Env == "":
		c.addProblem(path, "write {file: PATH} or {env: NAME}", "names neither a file nor an environment variable")
		return
	}
	r.env = c.env
	if !c.resolvePath(path+".file", &r.File) {
		return
	}
	_, err := r.Read()
	switch {
	case err == nil:
		c.warnIfExposed(path+".file", r.File)
	case errors.Is(err, errUnset):
		c.addProblem(path+".env", "set it where fairlead is started", "the environment variable %s is not set", r.Env)
	case errors.Is(err, errEmpty):
		c.addProblem(path+".file", "write the secret into it", "%s is empty", r.File)
	default:
		c.reportUnreadable(path+".file", r.File, err)
	}
}

func (c *checker) reportUnreadable(path, file string, err error) {
	var because *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.addProblem(path, "a relative path counts from the folder of the settings file", "there is no file %s", file)
	case errors.As(err, &because):
		c.addProblem(path, "let the user that fairlead runs as read this file", "%s cannot be read (%v)", file, because.Err)
	default:
		c.addProblem(path, "name a file that has the secret only", "%v", err)
	}
}

// warnIfExposed skips Windows, where the mode means nothing.
func (c *checker) warnIfExposed(path, file string) {
	info, err := os.Stat(file)
	if file == "" || err != nil || runtime.GOOS == "windows" {
		return
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		c.addWarning(path, "chmod 600 "+file, "%s can be read by others than its owner (mode %04o)", file, mode)
	}
}
