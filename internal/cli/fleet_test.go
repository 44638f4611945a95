package cli

import (
	"bytes"
	"context"
	"testing"
)

// TestExampleFleet: the example of the README has no problem and no warning.
func TestExampleFleet(t *testing.T) {
	const fleet = "../../testdata/fleet/"
	for _, env := range []string{"dev", "stage"} {
		var out, errs bytes.Buffer
		code := Main(context.Background(), []string{
			"check", "--strict", "-e", env, "--base-dir", fleet + "base", "--environment-dir", fleet + env,
			"--workload", "platform-svc=" + fleet + "workloads/platform-svc", "--workload", "shop=" + fleet + "workloads/shop",
		}, &out, &errs)
		if code != exitOK {
			t.Errorf("%s: exit code %d\n%s%s", env, code, out.String(), errs.String())
		}
	}
}
