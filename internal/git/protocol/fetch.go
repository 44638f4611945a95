package protocol

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// ErrMissingObject means that a server lacks an object that it was asked for.
var ErrMissingObject = errors.New("the server does not have this object")

// FetchRequest is a request to fetch objects.
type FetchRequest struct {
	Wants []plumbing.Hash // any objects: version 2 serves all that a server has
	Haves []plumbing.Hash // commits that the mirror has, with all their ancestors
	// Filter is Git's filter for what the answer leaves out; "" for nothing.
	Filter string
}

// Fetch requests objects and calls take with the pack that the server sends, which needs no
// other.
func (s Server) Fetch(ctx context.Context, w FetchRequest, take func(pack io.Reader) error) error {
	args := []string{"no-progress", "ofs-delta"}
	if w.Filter != "" {
		args = append(args, "filter "+w.Filter)
	}
	for _, id := range w.Wants {
		args = append(args, "want "+id.String())
	}
	for _, id := range w.Haves {
		args = append(args, "have "+id.String())
	}
	return s.postUploadPack(ctx, encodeCommand("fetch", append(args, "done")), func(answer io.Reader) error { return readPack(answer, take) })
}

// readPack calls take with the pack in an answer.
func readPack(answer io.Reader, take func(io.Reader) error) error {
	in := bufio.NewReader(answer)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err != nil || strings.Trim(string(head), "0123456789abcdef") != "" {
		return ErrUnsupported // nothing, or a page
	}
	lines := pktline.NewScanner(in)
	ok := lines.Scan()
	var line *pktline.ErrorLine
	switch err := lines.Err(); {
	case errors.As(err, &line) && strings.Contains(line.Text, "not our ref"):
		return fmt.Errorf("%w: %s", ErrMissingObject, line.Text)
	case err != nil && line == nil && !errors.Is(err, pktline.ErrInvalidPktLen):
		return err
	case !ok, strings.TrimSuffix(string(lines.Bytes()), "\n") != "packfile":
		return ErrUnsupported
	}
	err = take(sideband.NewDemuxer(sideband.Sideband64k, in))
	if _, rest := io.Copy(io.Discard, in); rest != nil { // so that the connection can be used again
		err = errors.Join(err, rest)
	}
	return err
}

// Demultiplex returns the pack in a stream that may also carry messages.
func Demultiplex(c *capability.List, in io.Reader) io.Reader {
	switch {
	case c.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, in)
	case c.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, in)
	}
	return in
}
