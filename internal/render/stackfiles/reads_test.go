package stackfiles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// twoColors are two stacks of one blueprint, and a stack that reads an output of the active one.
func twoColors() map[string]string {
	color := func(name string) string {
		return "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop-" + name + ", annotations: {fairlead.io/blueprint: shop}}\nspec:\n  teamName: shop\n  envName: " + name + "\n"
	}
	return map[string]string{
		"settings.yaml": settingsText, "blue.yaml": color("blue"), "green.yaml": color("green"),
		"dns.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: dns}\nspec:\n  teamName: shop\n  envName: dns\n",
	}
}

// renderColors renders the colors, with the active one, after a previous output of which clusters have reported
// Kustomizations as destroyed.
func renderColors(t *testing.T, active string, texts map[string]string, previous tree.Tree, destroyed ...string) (tree.Tree, problem.List) {
	t.Helper()
	base := filesOf(t, map[string]string{
		"shop.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop, annotations: {fairlead.io/active: " + active + "}}\nspec:\n  components:\n" +
			"    - {name: lb, type: terraform, module: {source: ./m}, outputs: [{name: host}, {name: zone}]}\n    - {name: db, type: terraform, module: {source: ./m}, dependsOn: [lb]}\n",
		"dns.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: dns}\nspec:\n  components:\n" +
			"    - {name: record, type: terraform, module: {source: ./m}, variables: [{name: a, valueFrom: shop/lb.host}, {name: b, valueFrom: 'shop/lb.zone[0]'}]}\n",
		"m/main.tf": "variable \"a\" { default = \"\" }\nvariable \"b\" { default = \"\" }\noutput \"host\" { value = \"h\" }\noutput \"zone\" { value = [\"z\"] }\n",
	})
	m, problems := model.Parse("dev", model.Layer{Kind: model.Base, Name: "main", Files: base}, model.Layer{Kind: model.Env, Name: "dev", Files: filesOf(t, texts)})
	rendered, more := stackfiles.Render(m)
	all, _, followed, err := stackfiles.FollowPrevious(m, rendered, stackfiles.Previous{
		Tree: previous, Since: func(string, string) ([]tree.Tree, bool) { return nil, false },
		IsDestroyed: func(d stackfiles.Deleted) bool {
			return !slices.ContainsFunc(d.Kustomizations, func(name string) bool { return !slices.Contains(destroyed, name) })
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, append(append(problems, more...), followed...).Sorted()
}

// TestSwitch: another active stack changes the root module of what reads it, and no plan of either color.
func TestSwitch(t *testing.T) {
	texts := twoColors()
	blue, problems := renderColors(t, "shop-blue", texts, tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	green, problems := renderColors(t, "shop-green", texts, blue)
	if problems.Stops() {
		t.Fatal(problems)
	}
	const module = "team/shop-team-environment/dns-environment-component/record/terraform/"
	if text := textOf(green, module+"module.tf"); !strings.Contains(text, "data.terraform_remote_state.shop_lb.outputs.host") || !strings.Contains(text, "data.terraform_remote_state.shop_lb.outputs.zone[0]") {
		t.Errorf("the record does not read the outputs:\n%s", text)
	}
	for color, output := range map[string]tree.Tree{"blue": blue, "green": green} {
		if text := textOf(output, module+"data.tf"); strings.Count(text, "terraform_remote_state") != 1 || !strings.Contains(text, `"shop/`+color+`/lb/terraform.tfstate"`) {
			t.Errorf("with %s active, the record reads:\n%s", color, text)
		}
		stacks, err := stackfiles.Summarize(output)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range stacks {
			if isColor := s.Stack != "shop/dns"; s.Active != (s.Stack == "shop/"+color) || (s.Blueprint == "shop") != isColor {
				t.Errorf("with %s active, %s of the blueprint %q is active: %v", color, s.Stack, s.Blueprint, s.Active)
			}
		}
	}
	for change := range tree.Diff(blue, green) {
		if !strings.HasPrefix(change.Path, module) && !strings.HasPrefix(change.Path, "environments/shop/dns/") && !strings.HasSuffix(change.Path, "/namespace.yaml") {
			t.Errorf("the switch changes %s", change.Path)
		}
	}
}

// TestUsedStays: what is read, or active, is neither torn down nor deleted; what is not used goes.
func TestUsedStays(t *testing.T) {
	edit := func(edits ...string) map[string]string {
		texts := twoColors()
		for i := 0; i < len(edits); i += 2 {
			if edits[i+1] == "" {
				delete(texts, edits[i])
				continue
			}
			texts[edits[i]] += edits[i+1]
		}
		return texts
	}
	const teardown = "  teardown: true\n"
	lb := func(field string) string { return "  components: [{name: lb, " + field + "}]\n" }
	readsGreen := "  components: [{name: record, variables: [{name: a, valueFrom: shop-green/lb.host}]}]\n"
	first, problems := renderColors(t, "shop-blue", twoColors(), tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	both, problems := renderColors(t, "shop-blue", edit("dns.yaml", readsGreen), tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		name     string
		active   string
		texts    map[string]string
		previous tree.Tree
		stopped  string // the stack that stays as it was; "" for none
		want     string
	}{
		{"the active one is torn down", "shop-blue", edit("blue.yaml", teardown), first, "shop/blue", "is the active one of the blueprint shop, and cannot be torn down"},
		{"the active one is deleted", "shop-blue", edit("blue.yaml", ""), first, "shop/blue", "was deleted, and the stack stays: it is the active one of the blueprint shop"},
		{"the active one is deleted, and nothing reads it", "shop-blue", edit("blue.yaml", "", "dns.yaml", ""), first, "shop/blue", "was deleted, and the stack stays: it is the active one of the blueprint shop"},
		{"a component that is read is destroyed", "shop-blue", edit("blue.yaml", lb("destroy: true")), first, "shop/blue", "the component lb cannot be destroyed: shop/dns/record reads it"},
		{"the inactive one is torn down", "shop-blue", edit("green.yaml", teardown), first, "", ""},
		{"the inactive one is deleted", "shop-blue", edit("green.yaml", ""), first, "", "the file of the stack shop/green was deleted: its components are destroyed"},
		{"the inactive one is torn down while it is read", "shop-blue", edit("green.yaml", teardown, "dns.yaml", readsGreen), both, "shop/green", "the component lb cannot be destroyed: shop/dns/record reads it"},
		{"the inactive one is deleted while it is read", "shop-blue", edit("green.yaml", "", "dns.yaml", readsGreen), both, "shop/green", "was deleted, and the stack stays: shop/dns/record reads it"},
		{"deleted with the switch", "shop-green", edit("blue.yaml", ""), first, "shop/blue", "was deleted, and the stack stays: shop/dns/record reads it"},
		{"a switch to what is torn down", "shop-green", edit("green.yaml", teardown), first, "shop/dns", "component record reads the component shop/green/lb, which is destroyed"},
		{"a switch to nothing", "shop-red", twoColors(), first, "shop/dns", "valueFrom names the stack shop-red, which is not in this environment"},
		{"an output that is not there", "shop-blue", edit("dns.yaml", "  components: [{name: record, variables: [{name: a, valueFrom: shop/lb.port}]}]\n"), first, "shop/dns", "valueFrom names the output port, which lb does not have"},
		{"a component that is not there", "shop-blue", edit("dns.yaml", "  components: [{name: record, variables: [{name: a, valueFrom: shop/web.host}]}]\n"), first, "shop/dns", "valueFrom names web, which is no component of the stack shop/blue"},
		{"its own stack", "shop-blue", edit("dns.yaml", "  components: [{name: record, variables: [{name: a, valueFrom: dns/record.host}]}]\n"), first, "shop/dns", "valueFrom names its own stack"},
		{"a chart", "shop-blue", edit("dns.yaml", "  components: [{name: web, type: helm, source: {repo: \"https://example.com/charts\", chart: web}, variables: [{name: a, valueFrom: shop/lb.host}]}]\n"), first, "shop/dns", "outputs of other stacks are read by root modules that Fairlead generates, and by nothing else"},
		{"a circle", "shop-blue", edit("blue.yaml", "  components: [{name: lb, variables: [{name: a, valueFrom: dns/record.x}]}]\n", "dns.yaml", "  components: [{name: record, outputs: [{name: x}]}]\n"), first, "shop/dns", "the stack shop/dns reads what reads it"},
	} {
		after, problems := renderColors(t, c.active, c.texts, c.previous)
		if !strings.Contains(fmt.Sprint(problems), c.want) || problems.Stops() != (c.stopped != "") || problems.StopsEnvironment() {
			t.Errorf("%s: the problems are %v, want %q", c.name, problems, c.want)
		}
		if c.stopped == "" {
			continue
		}
		if folder := "environments/" + c.stopped; !problems.StopsStack(c.stopped) || !tree.Equal(c.previous.Sub(folder), after.Sub(folder)) {
			t.Errorf("%s: %s does not stay as it was: %v\n%s", c.name, c.stopped, problems, changesOf(c.previous.Sub(folder), after.Sub(folder)))
		}
	}
}

// TestReadersGoFirst: where a stack is torn down with what reads it, what it has is destroyed after the reader, whether
// the stacks have files or not.
func TestReadersGoFirst(t *testing.T) {
	const teardown, auto = "  teardown: true\n", "  autoApprove: true\n"
	texts := twoColors()
	for name := range texts {
		if name != "settings.yaml" {
			texts[name] += auto
		}
	}
	alive, problems := renderColors(t, "shop-green", texts, tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	torn := map[string]string{"settings.yaml": settingsText}
	for name, text := range texts {
		torn[name] = text
		if name == "blue.yaml" || name == "dns.yaml" {
			torn[name] = text + teardown
		}
	}
	torn["dns.yaml"] += "  components: [{name: record, variables: [{name: a, valueFrom: shop-blue/lb.host}, {name: b, value: x}]}]\n"
	for name, files := range map[string]map[string]string{"teardown": torn, "deleted": {"settings.yaml": settingsText}} {
		read := "blue"
		if name == "deleted" {
			read = "green"
		}
		a, output := &approvals{T: t}, alive
		for range 3 { // the reader first, and then what it reads
			output, problems = renderColors(t, "shop-green", files, output)
		}
		if problems.StopsEnvironment() {
			t.Fatal(problems)
		}
		approved := func(component string) string {
			e, _ := output.Lookup("environments/shop/" + component + "/objects/terraform.yaml")
			o := decodeObject(a.T, e.Data)
			if !o.Spec.Destroy {
				t.Errorf("%s: %s is not destroyed", name, component)
			}
			return o.Spec.ApprovePlan
		}
		if approved("dns/record") != "auto" || approved(read+"/lb") != "" {
			t.Errorf("%s: the destruction of the reader is approved as %q, and of what it reads as %q", name, approved("dns/record"), approved(read+"/lb"))
		}
		output, problems = renderColors(t, "shop-green", files, output, "shop-"+read+"-db")
		if approved(read+"/lb") != "" {
			t.Errorf("%s: what is read is destroyed before its reader is: %v", name, problems)
		}
		output, problems = renderColors(t, "shop-green", files, output, "shop-"+read+"-db", "shop-dns-record")
		if approved(read+"/lb") != "auto" {
			t.Errorf("%s: once the reader is destroyed, what it read is not: %v", name, problems)
		}
	}
}
