package deploytest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instructions gives the instructions of the Dockerfile, one per line, without what
// is only for readers.
func instructions(t *testing.T) []string {
	t.Helper()
	var all []string
	joined := ""
	for line := range strings.Lines(read(t, "Dockerfile")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		more, ok := strings.CutSuffix(line, `\`)
		if joined += more; !ok {
			all = append(all, strings.Join(strings.Fields(joined), " "))
			joined = ""
		}
	}
	return all
}

// only gives what follows the one instruction that begins with start.
func only(t *testing.T, all []string, start string) string {
	t.Helper()
	var found []string
	for _, i := range all {
		if rest, ok := strings.CutPrefix(i, start); ok {
			found = append(found, strings.TrimSpace(rest))
		}
	}
	if len(found) != 1 {
		t.Fatalf("%q is there %d times: %q", start, len(found), found)
	}
	return found[0]
}

func TestImageGoVersion(t *testing.T) {
	want := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(read(t, "go.mod"))[1]
	got := regexp.MustCompile(`(?m)^FROM \S+ golang:(\S+?)@sha256:[0-9a-f]{64} AS build$`).FindStringSubmatch(read(t, "Dockerfile"))
	if got == nil || got[1] != want {
		t.Errorf("the image is built with %q, and go.mod says %s", got, want)
	}
}

func TestImage(t *testing.T) {
	all := instructions(t)
	var stages []string
	for _, i := range all {
		if rest, ok := strings.CutPrefix(i, "FROM "); ok {
			stages = append(stages, rest)
		}
	}
	if len(stages) != 2 || !regexp.MustCompile(`^\S+/distroless/static-debian\d+:nonroot@sha256:[0-9a-f]{64}$`).MatchString(stages[1]) {
		t.Errorf("the stages are %q, want one that builds and distroless static", stages)
	}
	for start, want := range map[string]string{
		"USER":   fmt.Sprintf("%d:%d", user, user),
		"EXPOSE": fmt.Sprint(port),
		"ENV":    "STATE_DIRECTORY=" + dataDir,
		fmt.Sprintf("COPY --from=build --chown=%d:%d", user, user): "/out/data " + dataDir,
		"ENTRYPOINT": `["/usr/bin/fairlead"]`,
	} {
		if got := only(t, all, start); got != want {
			t.Errorf("%s %s, want %s", start, got, want)
		}
	}
	var args []string
	if err := json.Unmarshal([]byte(only(t, all, "CMD")), &args); err != nil {
		t.Fatal(err)
	}
	checkServe(t, args)
	checkStamp(t, only(t, all, "RUN CGO_ENABLED=0"), "$VERSION")
}

// TestPinned: the actions that workflows run are named by commits. Fairlead's own follows main.
func TestPinned(t *testing.T) {
	all, err := filepath.Glob("../../../.github/workflows/*")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)`)
	pinned := regexp.MustCompile(`^(\S+@[0-9a-f]{40}|fairlead-io/fairlead@main|\./.*)$`)
	for _, file := range append(all, "../../../action.yml") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(data), -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s: %s is not pinned", file, m[1])
			}
		}
	}
}

// TestImageLayers: a change of the source or the version does not fetch the modules
// again.
func TestImageLayers(t *testing.T) {
	all := instructions(t)
	order := []string{"COPY go.mod go.sum ./", "RUN go mod download", "COPY . .", "ARG VERSION=unknown"}
	last := -1
	for _, i := range order {
		at := slices.Index(all, i)
		if at <= last {
			t.Fatalf("%q is not there, or not after what should stand before it: %q", i, all)
		}
		last = at
	}
}

// TestImageContext: what the build needs gets into it, and nothing else.
func TestImageContext(t *testing.T) {
	got := []string{}
	first := true
	for line := range strings.Lines(read(t, ".dockerignore")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if first && line != "*" {
			t.Errorf("it begins with %q, so that it lets through what nobody thought of", line)
		}
		first = false
		if name, ok := strings.CutPrefix(line, "!"); ok {
			got = append(got, name)
		}
	}
	want := append([]string{"go.mod", "go.sum"}, foldersWithCode(t)...)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the build gets %q, and needs %q", got, want)
	}
}

// foldersWithCode gives the folders of the root with Go files that are not tests.
func foldersWithCode(t *testing.T) []string {
	t.Helper()
	root := os.DirFS("../../..")
	var folders []string
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata") {
			return fs.SkipDir
		}
		top, _, below := strings.Cut(name, "/")
		if below && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && !slices.Contains(folders, top) {
			folders = append(folders, top)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}
