package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	registry "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/kube/chart"
)

// The media types of the layers that Helm and Flux push.
const (
	chartLayer    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	manifestLayer = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

func (f *Fetcher) buildArtifact(ctx context.Context, s inside.Source) inside.Built {
	wanted := manifestLayer
	if s.Kind == inside.ChartArtifact {
		wanted = chartLayer
	}
	packed, err := f.fetchLayer(ctx, s, wanted)
	if err != nil {
		return builtError(registryError(err))
	}
	if s.Kind == inside.ChartArtifact {
		return f.renderChart(ctx, s, chart.Chart{Archive: packed})
	}
	files, err := unpackFiles(packed)
	if err != nil {
		return builtError(err)
	}
	return inside.BuildManifests(s, files)
}

func (f *Fetcher) fetchLayer(ctx context.Context, s inside.Source, wanted string) ([]byte, error) {
	repository, isOCI := strings.CutPrefix(f.locate(s.URL), "oci://")
	if !isOCI {
		return nil, refuseSource(inside.Unsupported)
	}
	separator := ":"
	if strings.HasPrefix(s.Revision, "sha256:") {
		separator = "@"
	}
	ref, err := name.ParseReference(repository + separator + strings.ReplaceAll(s.Revision, "+", "_"))
	if err != nil {
		return nil, refuseSource(inside.NotFound)
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithTransport(hopTransport{f}), remote.WithAuth(authn.Anonymous)}
	if credentials := f.credentials("https://" + repository); credentials != nil {
		who, err := credentials(ctx)
		if err != nil || who.Secret == "" {
			return nil, refuseSource(inside.Private)
		}
		options = append(options, remote.WithAuth(&authn.Basic{Username: who.Username, Password: who.Secret}))
	}
	image, err := remote.Image(ref, options...)
	if err != nil {
		return nil, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	layer, ok := findLayer(manifest, wanted)
	if !ok {
		return nil, refuseSource(inside.Unsupported)
	}
	if layer.Size > maxArchive {
		return nil, refuseSource(inside.TooLarge)
	}
	if known := f.cached(layer.Digest.String()); known != nil {
		return known, nil
	}
	content, err := image.LayerByDigest(layer.Digest)
	if err != nil {
		return nil, err
	}
	body, err := content.Compressed()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	packed, err := io.ReadAll(io.LimitReader(body, maxArchive+1))
	if err != nil {
		return nil, err
	}
	return packed, f.cache(layer.Digest.String(), packed)
}

// findLayer returns the layer of a media type, or the only layer.
func findLayer(m *registry.Manifest, wanted string) (registry.Descriptor, bool) {
	for _, l := range m.Layers {
		if string(l.MediaType) == wanted {
			return l, true
		}
	}
	if len(m.Layers) == 1 {
		return m.Layers[0], true
	}
	return registry.Descriptor{}, false
}

func registryError(err error) error {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return err
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return refuseSource(inside.Private)
	case http.StatusNotFound, http.StatusGone:
		return refuseSource(inside.NotFound)
	}
	return err
}

// unpackFiles returns the regular files of an archive. Links and paths that lead out of it are left out.
func unpackFiles(packed []byte) (tree.Tree, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return tree.Tree{}, refuseSource(inside.Failed)
	}
	files, size := map[string][]byte{}, int64(0)
	archive := tar.NewReader(unzipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return tree.Tree{}, refuseSource(inside.Failed)
		}
		file := path.Clean(header.Name)
		if header.Typeflag != tar.TypeReg || tree.CheckPath(file) != nil {
			continue
		}
		size += header.Size
		if size > chart.MaxUnpacked || len(files) > maxFiles {
			return tree.Tree{}, refuseSource(inside.TooLarge)
		}
		files[file], err = io.ReadAll(archive)
		if err != nil {
			return tree.Tree{}, refuseSource(inside.Failed)
		}
	}
	t, err := tree.FromFiles(files)
	if err != nil {
		return tree.Tree{}, refuseSource(inside.Failed)
	}
	return t, nil
}

const maxFiles = 20_000
