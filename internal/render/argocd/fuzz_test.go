package argocd_test

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/render/argocd"
	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
)

// FuzzTranslate: whatever a file holds, an Application without problems becomes objects that an API server
// takes, below the folder of the component and in its namespace.
func FuzzTranslate(f *testing.F) {
	for _, name := range []string{"argocd-chart", "argocd-folder", "argocd-sources", "argocd-mistakes"} {
		archive, err := txtar.ParseFile("../stackfiles/testdata/stacks/" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.HasPrefix(file.Name, "repos/") || strings.HasPrefix(file.Name, "env/apps/") {
				f.Add(file.Data)
			}
		}
	}
	schemas, err := crdtest.Load()
	if err != nil {
		f.Fatal(err)
	}
	component := argocd.Component{
		Metadata: kubeobject.Metadata{Name: "checkout-dev-cd", Namespace: "checkout-dev"}, Interval: "10m",
		Settings: model.StackApplications{Clusters: []model.StackCluster{{Name: "shop-eu", Secret: "shop-eu"}}},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		apps, problems := argocd.Read([]argocd.File{{Layer: "example.com/apps", Name: "apps.yaml", Data: data}})
		if problems.Stops() {
			return
		}
		for _, a := range apps {
			objects, problems := argocd.Translate(a, component)
			if problems.Stops() {
				continue
			}
			for _, o := range objects {
				if strings.Count(o.File, "/") != 1 || !strings.HasPrefix(o.File, "checkout-dev-cd--") {
					t.Errorf("an object is in %s", o.File)
				}
				text, err := yamldoc.Encode(o.Value)
				if err != nil {
					t.Fatal(err)
				}
				for _, wrong := range schemas.Check(text) {
					t.Errorf("%s: %s\n%s", o.File, wrong, text)
				}
			}
		}
	})
}
