# An image with the program and nothing else that runs: docs/how-to/install.md.
#
#   docker build --build-arg VERSION="$(git describe --tags --always --dirty)" -t fairlead .

# The Go version is that of go.mod; internal/testkit/deploytest compares them. What the digests name cannot change;
# "crane digest golang:VERSION" prints that of another version.
FROM --platform=$BUILDPLATFORM golang:1.26.8@sha256:3c3e25a4da13fd0478eed2df1eb35a0e667094a7124d3993a6a1d30f71c17e79 AS build
WORKDIR /src
# Modules change less often than the source: they are a layer of their own.
COPY go.mod go.sum ./
RUN go mod download
# What .dockerignore lets through.
COPY . .
ARG TARGETOS TARGETARCH
# There is no .git here, from which Go would know the version. It stands after the
# modules, so that a new one does not fetch them again.
ARG VERSION=unknown
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X github.com/fairlead-io/fairlead/internal/cli.stampedVersion=$VERSION" \
      -o /out/fairlead ./cmd/fairlead \
 && mkdir /out/data

# No shell, no package manager, no git; it has CA certificates and the user 65532.
# Repositories at file:// and at paths need git, and so another base.
FROM gcr.io/distroless/static-debian12:nonroot@sha256:afa5c872c891853ca7fcf1f12c3edb23f7eeef36189728842dd51042ff57f7ab
COPY --from=build /out/fairlead /usr/bin/fairlead
# Belongs to the user, so that a named volume mounted here does so too.
COPY --from=build --chown=65532:65532 /out/data /var/lib/fairlead
# The default of dataDir.
ENV STATE_DIRECTORY=/var/lib/fairlead
# A number, not a name: Kubernetes checks runAsNonRoot by it.
USER 65532:65532
WORKDIR /etc/fairlead
EXPOSE 8080
ENTRYPOINT ["/usr/bin/fairlead"]
CMD ["serve", "--config", "/etc/fairlead/fairlead.yaml"]
