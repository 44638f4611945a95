package ephemeral

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

func TestWhere(t *testing.T) {
	for _, test := range []struct {
		name         string
		to           model.RepoRef
		shared       bool
		branch, path string
	}{
		{"own branch", model.RepoRef{Branch: "dev", Path: "."}, false, "ephemeral/pr-7", "."},
		{"own branch of another name", model.RepoRef{Branch: "main", Path: "./out"}, false, "ephemeral/pr-7", "./out"},
		{"folder of a shared branch", model.RepoRef{Branch: "main", Path: "clusters/dev"}, false, "main", "clusters/pr-7"},
		{"deeper", model.RepoRef{Branch: "main", Path: "./clusters/dev/apps"}, false, "main", "clusters/pr-7/apps"},
		{"folder of an own branch", model.RepoRef{Branch: "env/dev", Path: "clusters/dev"}, false, "ephemeral/pr-7", "clusters/dev"},
		{"a part of a name is no name", model.RepoRef{Branch: "main", Path: "clusters/devel"}, false, "ephemeral/pr-7", "clusters/devel"},
		{"beside the control plane", model.RepoRef{Branch: "out-dev", Path: "."}, true, "ephemeral-output/pr-7", "."},
	} {
		t.Run(test.name, func(t *testing.T) {
			branch, folder := OutputLocation("pr-7", "dev", test.to, test.shared)
			if branch != test.branch || folder != test.path {
				t.Errorf("the output goes to %s, %s; want %s, %s", branch, folder, test.branch, test.path)
			}
		})
	}
}

func TestWithPlace(t *testing.T) {
	for _, test := range []struct{ name, text, want, fails string }{
		{"comments stay", "# Where it goes.\nkind: GitOpsRepo\nspec:\n  repo: r # ours\n  branch: dev # of dev\n  path: .\n",
			"# Where it goes.\nkind: GitOpsRepo\nspec:\n  repo: r # ours\n  branch: b # of dev\n  path: f\n", ""},
		{"among others", "kind: BaseRepo\nspec: {branch: main}\n---\nkind: GitOpsRepo\nspec: {repo: r, branch: dev}\n",
			"kind: BaseRepo\nspec: {branch: main}\n---\nkind: GitOpsRepo\nspec: {repo: r, branch: b, path: f}\n", ""},
		{"none", "kind: BaseRepo\n", "", "there are 0 objects of kind GitOpsRepo in the file, and not one"},
		{"two", "kind: GitOpsRepo\nspec: {}\n---\nkind: GitOpsRepo\nspec: {}\n", "", "there are 2 objects of kind GitOpsRepo in the file, and not one"},
		{"no spec", "kind: GitOpsRepo\n", "", "spec of the GitOpsRepo is not a mapping"},
		{"empty", "", "", "there are 0 objects of kind GitOpsRepo in the file, and not one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := withOutput([]byte(test.text), "b", "f")
			if test.fails != "" {
				if err == nil || err.Error() != test.fails {
					t.Errorf("the error is %v, want %s", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestText: what is written can be read, and its end can be written anew.
func TestText(t *testing.T) {
	end := time.Date(2026, 3, 1, 12, 0, 0, 5, time.FixedZone("", 3600))
	types := model.Selector{Requirements: []model.Requirement{{Key: "old", Operator: model.DoesNotExist}, {Key: "size", Operator: model.In, Values: []string{"small"}}}}
	data, err := encodeEphemeral("pr-7", "dev", end, types, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkReadable("pr-7", data); err != nil {
		t.Fatal(err)
	}
	data, err = withExpires(data, end.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: fairlead.io/v1alpha1
kind: Ephemeral
metadata:
  name: pr-7
spec:
  from: dev
  expires: 2026-03-01T12:00:00Z
  clusterTypes:
    matchExpressions:
      - key: old
        operator: DoesNotExist
      - key: size
        operator: In
        values:
          - small
`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	types.Requirements[1].Values[0] = "a b"
	if data, err = encodeEphemeral("pr-7", "dev", end, types, nil); err != nil {
		t.Fatal(err)
	}
	if err := checkReadable("pr-7", data); err == nil {
		t.Error("a label that cannot be is taken")
	}
}

func TestNear(t *testing.T) {
	begun := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	e := &source.Ephemeral{Since: begun, Spec: &model.Ephemeral{Expires: begun.Add(50 * time.Hour)}}
	if got, want := NearEnd(e), begun.Add(45*time.Hour); !got.Equal(want) {
		t.Errorf("the end is near from %s on, want %s", got, want)
	}
}

func TestCheckTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		ttl   time.Duration
		wants string
	}{
		{time.Second, ""},
		{30 * 24 * time.Hour, ""},
		{0, "an environment cannot live for 0s"},
		{-time.Hour, "an environment cannot live for -1h0m0s"},
		{31 * 24 * time.Hour, "it would live for 31 days from now, and 30 days are the limit"},
		{1000 * time.Hour, "it would live for 41.7 days from now, and 30 days are the limit"},
	} {
		got := ""
		if err := checkTime(test.ttl, now.Add(test.ttl), now); err != nil {
			got = err.Error()
		}
		if got != test.wants {
			t.Errorf("%s: %q, want %q", test.ttl, got, test.wants)
		}
	}
}
