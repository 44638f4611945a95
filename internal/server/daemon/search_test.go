package daemon_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// looked is what is looked for: the names of secrets by the ways to write them.
type looked map[string]string

// search gives how secrets may be written: as they are, for URLs, in JSON, in
// hexadecimal digits, and in Base64 wherever they begin. Of a key, each line counts.
func search(secrets map[string]string) looked {
	look := looked{}
	for name, secret := range secrets {
		if !strings.HasPrefix(secret, "-----BEGIN") {
			look.add(name, secret)
			continue
		}
		lines := strings.Split(strings.TrimSpace(secret), "\n")
		for _, line := range lines[2 : len(lines)-1] { // the first says what cipher it has
			look[line] = name
		}
	}
	return look
}

func (l looked) add(name, secret string) {
	quoted, _ := json.Marshal(secret)
	user := url.UserPassword("", secret).String()
	ways := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), user[1:], strings.Trim(string(quoted), `"`), hex.EncodeToString([]byte(secret))}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
			text = text[(before*8+5)/6:] // what has bits of what comes before
			ways = append(ways, text[:len(text)-2])
		}
	}
	for _, way := range ways {
		l[way] = name
	}
}

// find gives the name of a secret that is in a text, and where it begins; or "".
func (l looked) find(text string) (name string, at int) {
	for _, way := range slices.Sorted(maps.Keys(l)) {
		if i := strings.Index(text, way); i >= 0 {
			return l[way], i
		}
	}
	return "", -1
}

// in sees that a text has no secret.
func (l looked) in(t *testing.T, where, text string) {
	t.Helper()
	if name, at := l.find(text); name != "" {
		t.Errorf("%s has %s, after:\n%q", where, name, text[max(0, at-200):at])
	}
}

// folder sees that no file has a secret, and no object of a repository, but for what
// somebody wrote into the control plane.
func (l looked) folder(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		l.in(t, "the name of a file", path)
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "objects")); err == nil {
				l.but(path).in(t, "an object in "+path, objects(t, path))
			}
			return nil
		}
		text, err := os.ReadFile(path)
		allowed := l
		if strings.HasSuffix(path, ".pack") { // it has objects, compressed or not
			allowed = l.but(path)
		}
		allowed.in(t, path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// objects gives all that a repository has.
func objects(t *testing.T, repository string) string {
	t.Helper()
	return gittest.Git(t, repository, "cat-file", "--batch", "--batch-all-objects")
}

// but leaves out what people have written into a repository.
func (l looked) but(repository string) looked {
	left := maps.Clone(l)
	maps.DeleteFunc(left, func(_, name string) bool { return name == inURL && strings.Contains(repository, "control-plane") })
	return left
}
