package provision_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// sealed is a Secret that SOPS encrypted, with a value and what SOPS notes beside it.
const sealed = `---
apiVersion: v1
kind: Secret
metadata: {name: aws, namespace: fleet}
data: {accesskey: "ENC[AES256_GCM,data:%s,iv:eA==,tag:eA==,type:str]", secretkey: "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]"}
sops: {lastmodified: "%s", mac: "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]"}
`

// TestRotatedFile: another encrypted value is a rotation of the credentials, and what SOPS notes beside it is
// none. An output of before digests were recorded has none either.
func TestRotatedFile(t *testing.T) {
	stateWith := func(value, modified string) provision.State {
		return readState(t, `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata: {name: edge, namespace: fleet}
spec:
  providers: [{name: aws-1, providerType: aws, secretRef: {name: aws, namespace: fleet}}]
  nodePools: {dynamic: [{name: control, providerSpec: {name: aws-1, region: eu}, count: 3, serverType: t3.medium, image: ami-1}]}
  kubernetes: {clusters: [{name: one, version: 1.35.0, network: 192.168.2.0/24, pools: {control: [control]}}]}
`+fmt.Sprintf(sealed, value, modified))
	}
	before := stateWith("eA==", "2026-01-01T00:00:00Z")
	unknown := before
	unknown.Secrets = nil
	for name, test := range map[string]struct {
		before, after provision.State
		want          string
	}{
		"value":   {before, stateWith("eQ==", "2026-01-02T00:00:00Z"), "rotate-credentials/aws-1: secretRef: fleet/aws → fleet/aws, changed"},
		"notes":   {before, stateWith("eA==", "2026-01-02T00:00:00Z"), ""},
		"unknown": {unknown, stateWith("eQ==", "2026-01-02T00:00:00Z"), ""},
	} {
		var got []string
		for _, s := range planOf(t, &test.before, &test.after).Steps {
			got = append(got, s.ID+": "+s.Reason[0].String())
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s: the steps are %q, want %q", name, got, test.want)
		}
		stage := nextStage(t, &test.before, &test.after, false)
		if stage.Waits || stage.State.Secrets["fleet/aws"] != test.after.Secrets["fleet/aws"] {
			t.Errorf("%s: the rotation waits for a phase: %+v", name, stage)
		}
	}
}

// TestSharedCredentials: credentials that another manifest names are not dropped with a provider.
func TestSharedCredentials(t *testing.T) {
	ref := claudie.Reference{Namespace: "fleet", Name: "aws"}
	one := provision.State{Namespace: "fleet", Name: "one", Spec: claudie.Spec{Providers: []claudie.Provider{{Name: "aws-1", Type: "aws", SecretRef: ref}}}}
	last := provision.State{Namespace: "fleet", Name: "one", Rollout: &provision.Rollout{Dropped: []string{"10-credentials/secret-fleet-aws.yaml", "10-credentials/secret-fleet-gcp.yaml"}}}
	other := provision.State{Namespace: "fleet", Name: "two", Spec: claudie.Spec{NodePools: claudie.NodePools{Static: []claudie.StaticPool{
		{Name: "metal", Nodes: []claudie.StaticNode{{Endpoint: "192.0.2.1", SecretRef: ref}}},
	}}}}
	for name, test := range map[string]struct {
		before provision.State
		beside []provision.State
		want   string
	}{
		"alone":  {one, nil, "drop-provider/aws-1 [aws-1]; drop-credentials/aws-1 [fleet/aws]"},
		"shared": {one, []provision.State{other}, "drop-provider/aws-1 [aws-1]"},
		"existing": {func() provision.State {
			s := one
			s.Secrets = map[string]string{"fleet/aws": provision.ExistingSecret}
			return s
		}(), nil, "drop-provider/aws-1 [aws-1]"},
		"kept, alone":    {last, nil, "drop-credentials/kept [secret-fleet-aws secret-fleet-gcp]"},
		"kept, a shared": {last, []provision.State{other}, "drop-credentials/kept [secret-fleet-gcp]"},
	} {
		transition, err := provision.NewTransition(&test.before, &provision.State{Namespace: "fleet", Name: "one"}, test.beside)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range transition.Steps {
			var old []string
			for _, c := range s.Reason {
				old = append(old, c.Old)
			}
			got = append(got, fmt.Sprint(s.ID, " ", old))
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s: the steps are %q, want %q", name, got, test.want)
		}
	}
}
