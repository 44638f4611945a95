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

// ErrMissingObject means that a server lacks a requested object.
var ErrMissingObject = errors.New("the server does not have this object")

// FetchRequest is a request to fetch objects.
type FetchRequest struct {
	Wants  []plumbing.Hash
	Haves  []plumbing.Hash
	Filter string
}

// Fetch calls take with the pack, which is not thin.
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

func readPack(answer io.Reader, take func(io.Reader) error) error {
	in := bufio.NewReader(answer)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err != nil || strings.Trim(string(head), "0123456789abcdef") != "" {
		return ErrUnsupported // empty, or a web page
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
	if _, rest := io.Copy(io.Discard, in); rest != nil {
		err = errors.Join(err, rest)
	}
	return err
}

// Demultiplex returns the pack in a stream with messages.
func Demultiplex(c *capability.List, in io.Reader) io.Reader {
	switch {
	case c.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, in)
	case c.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, in)
	}
	return in
}
