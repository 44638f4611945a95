package promoter

import "testing"

func TestReportedObjects(t *testing.T) {
	for object, want := range map[string]string{
		"Kustomization/flux-system/apps": "kustomization/apps", "HelmRelease/shop/web@0a1b": "helmrelease/web",
		"GitRepository/flux-system/apps": "", "Terraform/a/b": "", "Kustomization/apps": "", "": "",
	} {
		if got := objectOfReport(object); got != want {
			t.Errorf("a report about %s is about %q, want %q", object, got, want)
		}
	}
	for context, want := range map[string]string{
		"kustomization/apps/0a1b2c3d": "kustomization/apps", "helmrelease/web/0a1b2c3d": "helmrelease/web", "ci/build/linux": "", "kustomization/apps": "", "e2e": "",
	} {
		if got := objectOfStatus(context); got != want {
			t.Errorf("a status of %s is about %q, want %q", context, got, want)
		}
	}
}
