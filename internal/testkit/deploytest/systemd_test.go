package deploytest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unit is a systemd unit: section.key to its values, in their order.
type unit map[string][]string

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	u := unit{}
	section := ""
	for line := range strings.Lines(read(t, name)) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case !ok || strings.HasSuffix(line, `\`):
			t.Fatalf("%s: this test does not understand %q", name, line)
		default:
			u[section+"."+key] = append(u[section+"."+key], value)
		}
	}
	return u
}

func TestUnit(t *testing.T) {
	u := readUnit(t, "deploy/systemd/fairlead.service")
	if len(u["Service.ExecStart"]) != 1 {
		t.Fatalf("it starts %q", u["Service.ExecStart"])
	}
	command := strings.Fields(u["Service.ExecStart"][0])
	if command[0] != "/usr/bin/fairlead" {
		t.Errorf("the program is %s", command[0])
	}
	checkServe(t, command[1:])

	want := unit{
		"Service.Type":                     {"exec"},
		"Service.Restart":                  {"on-failure"},
		"Service.RestartPreventExitStatus": {"2"},
		"Service.TimeoutStopSec":           {"60s"},
		"Service.DynamicUser":              {"yes"},
		"Service.StateDirectory":           {strings.TrimPrefix(dataDir, "/var/lib/")},
		"Service.StateDirectoryMode":       {"0700"},
		"Service.LoadCredential":           {"token:/etc/fairlead/token"},
		"Service.CapabilityBoundingSet":    {""},
		"Service.NoNewPrivileges":          {"yes"},
		"Service.ProtectSystem":            {"strict"},
		"Service.ProtectHome":              {"yes"},
		"Service.PrivateDevices":           {"yes"},
		"Service.PrivateUsers":             {"yes"},
		"Service.RestrictAddressFamilies":  {"AF_INET AF_INET6"},
		"Service.SystemCallFilter":         {"@system-service", "~@privileged"},
		"Install.WantedBy":                 {"multi-user.target"},
	}
	for key, values := range want {
		if diff := cmp.Diff(values, u[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	for _, key := range []string{"Service.User", "Service.AmbientCapabilities", "Service.ReadWritePaths", "Service.Environment"} {
		if got := strings.Join(u[key], ""); got != "" {
			t.Errorf("%s is %s", key, got)
		}
	}
}

// TestUnitSettings: the settings that the page has for a machine are good, and find
// what the unit provides.
func TestUnitSettings(t *testing.T) {
	const credentials = "/run/credentials/fairlead.service"
	page := read(t, "docs/how-to/install.md")
	_, rest, _ := strings.Cut(page, "```yaml\n# "+settings+"\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok || !strings.Contains(text, credentials+"/token") {
		t.Fatal("docs/how-to/install.md has no settings with the token of the unit")
	}
	s, problems := parse(t, text, credentials, 0o400)
	if len(problems) > 0 {
		t.Error(problems)
	}
	if s.DataDir != dataDir {
		t.Errorf("data in %s", s.DataDir)
	}
	if r, ok := s.Remote(s.ControlPlane.Repo); !ok || r.Token == nil {
		t.Error("the token is not for the control plane")
	}
}
