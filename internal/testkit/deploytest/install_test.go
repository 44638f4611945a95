package deploytest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// released serves a release that has a program, under the names that .goreleaser.yaml
// gives; broken is in the place of the checksums of one that was tampered with.
func released(t *testing.T, program string) (url, checksum string, broken *bool) {
	t.Helper()
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	w := tar.NewWriter(zip)
	for _, file := range []struct{ name, text string }{{"LICENSE", "…"}, {"fairlead", program}} {
		if err := w.WriteHeader(&tar.Header{Name: file.name, Mode: 0o755, Size: int64(len(file.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(file.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(archive.Bytes())
	checksum, broken = hex.EncodeToString(sum[:]), new(bool)
	files := http.NewServeMux()
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_arm64"} {
		files.HandleFunc("/v1.2.3/fairlead_1.2.3_"+platform+".tar.gz", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(archive.Bytes())
		})
	}
	files.HandleFunc("/v1.2.3/checksums.txt", func(w http.ResponseWriter, _ *http.Request) {
		sum := checksum
		if *broken {
			sum = strings.Repeat("0", len(sum))
		}
		fmt.Fprintf(w, "%s  fairlead_1.2.3_linux_amd64.tar.gz.spdx.json\n%s  fairlead_1.2.3_linux_amd64.tar.gz\n%s  fairlead_1.2.3_linux_arm64.tar.gz\n",
			strings.Repeat("1", 64), sum, sum)
	})
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	return server.URL, checksum, broken
}

const says = "#!/bin/sh\necho \"released: $*\"\n"

// needs skips a test where a program is not installed.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here", program)
		}
	}
}

// TestAction: the action installs the release that it was asked for, and nothing that is
// not what its checksum says.
func TestAction(t *testing.T) {
	needs(t, "bash", "curl", "tar", "sha256sum")
	var action struct {
		Inputs map[string]struct {
			Description, Default string
			Required             bool
		}
		Outputs map[string]struct{ Value string }
		Runs    struct {
			Using string
			Steps []step
		}
	}
	if err := yaml.UnmarshalStrict([]byte(dropped(t, read(t, "action.yml"))), &action); err != nil {
		t.Fatal(err)
	}
	if action.Runs.Using != "composite" || len(action.Runs.Steps) != 1 || !action.Inputs["version"].Required || action.Runs.Steps[0].Uses != "" {
		t.Fatalf("the action is %+v", action)
	}
	install := action.Runs.Steps[0]
	if strings.Contains(install.Run, "${{") {
		t.Error("an expression is part of the script")
	}
	url, checksum, broken := released(t, says)
	for _, test := range []struct {
		name, version, checksum string
		os, arch                string
		broken                  bool
		fails                   string
	}{
		{name: "by the checksums of the release", version: "v1.2.3", os: "Linux", arch: "X64"},
		{name: "by a checksum", version: "v1.2.3", checksum: checksum, os: "macOS", arch: "ARM64", broken: true},
		{name: "tampered with", version: "v1.2.3", os: "Linux", arch: "ARM64", broken: true, fails: "FAILED"},
		{name: "another checksum", version: "v1.2.3", checksum: strings.Repeat("a", 64), os: "Linux", arch: "X64", fails: "FAILED"},
		{name: "no checksum", version: "v1.2.3", os: "macOS", arch: "ARM64", fails: "has no checksum of fairlead_1.2.3_darwin_arm64.tar.gz"},
		{name: "no such release", version: "v9", os: "Linux", arch: "X64", fails: "404"},
		{name: "no such machine", version: "v1.2.3", os: "Windows", arch: "X64", fails: "this is Windows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			*broken = test.broken
			j := newJob(t)
			maps.Copy(j.env, map[string]string{"RUNNER_OS": test.os, "RUNNER_ARCH": test.arch})
			j.expressions = map[string]string{"inputs.version": test.version, "inputs.checksum": test.checksum, "inputs.releases": url}
			env := map[string]string{}
			for key, value := range install.Env {
				env[key] = j.value(value)
			}
			printed, err := j.script(install.Shell, install.Run, env)
			path := strings.TrimSpace(j.wrote("GITHUB_PATH"))
			if test.fails != "" {
				if err == nil || !strings.Contains(printed, test.fails) || path != "" {
					t.Errorf("%v, %q is on the path: %s", err, path, printed)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, printed)
			}
			if j.wrote("GITHUB_OUTPUT") != "path="+path+"\n" || action.Outputs["path"].Value != "${{ steps."+install.ID+".outputs.path }}" {
				t.Errorf("the output is %q", j.wrote("GITHUB_OUTPUT"))
			}
			got, err := exec.Command(filepath.Join(path, "fairlead"), "version").Output()
			if err != nil || string(got) != "released: version\n" {
				t.Errorf("what was installed says %q (%v)", got, err)
			}
		})
	}
}

// dropped gives an action without what is for the catalogue.
func dropped(t *testing.T, text string) string {
	t.Helper()
	var all map[string]any
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"name", "description", "author"} {
		if all[key] == nil {
			t.Errorf("the action has no %s", key)
		}
		delete(all, key)
	}
	for _, output := range all["outputs"].(map[string]any) {
		delete(output.(map[string]any), "description")
	}
	encoded, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// TestReleaseNames: what is downloaded is what a release has.
func TestReleaseNames(t *testing.T) {
	config := read(t, ".goreleaser.yaml")
	for _, want := range []string{`name_template: "{{ .ProjectName }}_{{ .Version }}_{{ .Os }}_{{ .Arch }}"`, "formats: [tar.gz]", "name_template: checksums.txt"} {
		if !strings.Contains(config, want) {
			t.Errorf(".goreleaser.yaml lacks %s", want)
		}
	}
	for _, file := range []string{"action.yml", "ci/gitlab/fairlead.yml"} {
		text := read(t, file)
		if !strings.Contains(text, `"fairlead_${VERSION#v}_${os}_${arch}.tar.gz"`) && !strings.Contains(text, `"fairlead_${FAIRLEAD_VERSION#v}_linux_${arch}.tar.gz"`) ||
			!strings.Contains(text, "checksums.txt") {
			t.Errorf("%s downloads something else", file)
		}
	}
}
