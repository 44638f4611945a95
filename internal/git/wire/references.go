// Package wire is what we say to servers over HTTP ourselves: it asks for some of their
// references by version 2 of Git's protocol, with one small request and an answer that
// has nothing else in it, and does not wait for a server that has stopped answering.
//
// What the package keeps true: a server that does not know the version is told from one
// that has an answer ([ErrUnsupported]), and then nothing is concluded.
package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// ErrUnsupported says that a server did not answer as version 2 has it.
var ErrUnsupported = errors.New("the server does not speak version 2 of Git's protocol")

// maxAnswer bounds an answer in bytes.
const maxAnswer = 64 << 20

// References gives the references whose names begin with one of the prefixes, and where HEAD
// points to. auth is nil for nobody.
func References(ctx context.Context, client *http.Client, url string, auth githttp.AuthMethod, prefixes []string) (refs *packp.AdvRefs, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(url, "/")+"/git-upload-pack", bytes.NewReader(request(prefixes)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Git-Protocol", "version=2")
	req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	req.Header.Set("Accept", "application/x-git-upload-pack-result")
	req.Header.Set("User-Agent", capability.DefaultAgent())
	if auth != nil {
		auth.SetAuth(req)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	switch {
	case res.StatusCode == http.StatusBadRequest, res.StatusCode == http.StatusMethodNotAllowed, res.StatusCode >= 500 && res.StatusCode != http.StatusServiceUnavailable:
		return nil, ErrUnsupported
	case res.StatusCode != http.StatusOK:
		return nil, githttp.NewErr(res)
	}
	return parse(io.LimitReader(res.Body, maxAnswer))
}

// request is the command, a delimiter, its arguments, and the end.
func request(prefixes []string) []byte {
	var b bytes.Buffer
	line := func(text string) { fmt.Fprintf(&b, "%04x%s\n", len(text)+len("0000\n"), text) }
	line("command=ls-refs")
	line("agent=" + capability.DefaultAgent())
	b.WriteString("0001")
	line("symrefs")
	for _, p := range prefixes {
		line("ref-prefix " + p)
	}
	b.WriteString("0000")
	return b.Bytes()
}

// parse reads lines of an id, a name, and what is to be said of it.
func parse(in io.Reader) (*packp.AdvRefs, error) {
	refs := packp.NewAdvRefs()
	lines := pktline.NewScanner(in)
	for lines.Scan() {
		text := strings.TrimSuffix(string(lines.Bytes()), "\n")
		if text == "" { // the end
			_, err := io.Copy(io.Discard, in) // so that the connection can be used again
			return refs, err
		}
		words := strings.Split(text, " ")
		if len(words) < 2 || words[0] != "unborn" && !plumbing.IsHash(words[0]) {
			return nil, ErrUnsupported
		}
		if words[0] != "unborn" {
			refs.References[words[1]] = plumbing.NewHash(words[0])
		}
		for _, word := range words[2:] {
			if target, ok := strings.CutPrefix(word, "symref-target:"); ok {
				if err := refs.AddReference(plumbing.NewSymbolicReference(plumbing.ReferenceName(words[1]), plumbing.ReferenceName(target))); err != nil {
					return nil, err
				}
			}
		}
	}
	var refused *pktline.ErrorLine
	if err := lines.Err(); err != nil && !errors.Is(err, pktline.ErrInvalidPktLen) && !errors.As(err, &refused) {
		return nil, err
	}
	return nil, ErrUnsupported
}
