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

// redacted is all that is ever printed of a secret.
const redacted = "[redacted]"

// Secret is a text that must not be seen. However it is printed, logged or encoded,
// it is "[redacted]". The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt does not call methods of what is in an unexported field
	// of another struct: it prints the address.
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

// String returns "[redacted]", as all methods that follow do.
func (s Secret) String() string { return redacted }

// GoString is for %#v.
func (s Secret) GoString() string { return redacted }

// Format is for every verb of fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText is for encoders; its error is always nil.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON is for encoding/json; its error is always nil.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue is for log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// SecretRef is the location of a secret: a file or an environment variable. One of
// the fields is not "".
type SecretRef struct {
	// File is an absolute path.
	File string `yaml:"file"`
	// Env is the name of an environment variable.
	Env string `yaml:"env"`

	env func(string) string
}

var (
	errEmpty = errors.New("it is empty")
	errUnset = errors.New("it is not set")
)

// Read returns the secret as it is now, so that a changed secret is used without
// a restart, less one newline at its end. It fails if there is no secret, or an
// empty one; the error does not quote what was read.
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

// checkSecret checks that a secret can be read, and warns if other users can read it too. path is
// that of the reference in the settings; nil is no reference.
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

// reportUnreadable reports why a file that the settings name cannot be read.
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

// warnIfExposed warns of a file with a secret that others can read, except on Windows, where the
// mode does not tell.
func (c *checker) warnIfExposed(path, file string) {
	info, err := os.Stat(file)
	if file == "" || err != nil || runtime.GOOS == "windows" {
		return
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		c.addWarning(path, "chmod 600 "+file, "%s can be read by others than its owner (mode %04o)", file, mode)
	}
}
