package daemon_test

import (
	"fmt"
	"strings"
)

// hostileFile is a file that was not meant well, or by mistake looks like it.
type hostileFile struct {
	name, path, text string
	link             bool // a symbolic link to the text
}

// kalypsoObject returns an object of one of Kalypso's kinds.
func kalypsoObject(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata: {name: %s, labels: {location: cloud, app: checkout}}\nspec:\n%s", kind, name, spec)
}

// hostileSchema returns a ConfigSchema.
func hostileSchema(text string) string {
	return kalypsoObject("ConfigSchema", "hostile", "  schema: |\n    "+strings.ReplaceAll(text, "\n", "\n    ")+"\n")
}

// hostileTemplate returns a Template that takes the place of the one for Flux.
func hostileTemplate(text string) string {
	return kalypsoObject("Template", "flux", "  type: reconciler\n  manifests:\n  - |\n    "+strings.ReplaceAll(text, "\n", "\n    ")+"\n")
}

func clusterType(name string) string {
	return kalypsoObject("ClusterType", name, "  reconciler: flux\n  namespaceService: default\n  configType: configmap\n")
}

func nestedRefs(depth int) string {
	var b strings.Builder
	b.WriteString(`{"definitions": {`)
	for i := range depth {
		fmt.Fprintf(&b, `"d%d": {"allOf": [{"$ref": "#/definitions/d%d"}, {"$ref": "#/definitions/d%d"}]}, `, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d": {"type": "object"}}, "$ref": "#/definitions/d0"}`, depth)
	return b.String()
}

func anchors(depth int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < depth; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	return b.String()
}

// hostileFiles are what the generator has from attacks by hand.
var hostileFiles = []hostileFile{
	{name: "cluster type a/b", path: "hostile.yaml", text: clusterType("a/b")},
	{name: "cluster type ../../x", path: "hostile.yaml", text: clusterType("../../x")},
	{name: "cluster type .", path: "hostile.yaml", text: clusterType(`"."`)},
	{name: "cluster type ..", path: "hostile.yaml", text: clusterType(`".."`)},
	{name: "cluster type .git", path: "hostile.yaml", text: clusterType(".git")},
	{name: "cluster type .GIT", path: "hostile.yaml", text: clusterType(".GIT")},
	{name: "cluster type .github", path: "hostile.yaml", text: clusterType(".github")},
	{name: "definitions true", path: "hostile.yaml", text: hostileSchema(`{"definitions": true}`)},
	{name: "$id and $ref are one", path: "hostile.yaml", text: hostileSchema(`{"$id": "#/definitions/x", "$ref": "#/definitions/x"}`)},
	{name: "a $ref to itself", path: "hostile.yaml", text: hostileSchema(`{"$ref": "#"}`)},
	{name: "$refs, 40 levels deep", path: "hostile.yaml", text: hostileSchema(nestedRefs(40))},
	{name: "a pattern of great size", path: "hostile.yaml", text: hostileSchema(`{"patternProperties": {"` + strings.Repeat("(a{1,1000})", 200) + `": {}}}`)},
	{name: "sortAlpha", path: "hostile.yaml", text: hostileTemplate("{{ $l := until 9999 }}{{ range $l }}{{ sortAlpha $l }}{{ end }}")},
	{name: "sha256sum", path: "hostile.yaml", text: hostileTemplate("{{ $t := repeat 1000000 \"x\" }}{{ range until 9999 }}{{ $_ := sha256sum $t }}{{ end }}")},
	{name: "regexMatch", path: "hostile.yaml", text: hostileTemplate("{{ regexMatch (repeat 900 \"(a{1,1000})\") \"a\" }}")},
	{name: "regexReplaceAll", path: "hostile.yaml", text: hostileTemplate("{{ $t := repeat 1000000 \"x\" }}{{ range until 9999 }}{{ $_ := regexReplaceAll \"x\" $t \"yy\" }}{{ end }}")},
	{name: "a template that calls itself", path: "hostile.yaml", text: hostileTemplate("{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}")},
	{name: "a range without end", path: "hostile.yaml", text: hostileTemplate("{{ range until 9999 }}{{ range until 9999 }}{{ range until 9999 }}x{{ end }}{{ end }}{{ end }}")},
	{name: "printf of great width", path: "hostile.yaml", text: hostileTemplate("{{ printf \"%999999999d\" 1 }}")},
	{name: "a second expansion", path: "hostile.yaml", text: strings.Replace(chaosWorkload, "./api", `x{{ printf "\"\n---\nkind: ClusterRoleBinding" }}`, 1)},
	{name: "anchors", path: "hostile.yaml", text: anchors(12)},
	{name: "deep lists", path: "hostile.yaml", text: strings.Repeat("[", 20_000)},
	{name: "deep maps", path: "hostile.yaml", text: strings.Repeat("{a: ", 20_000)},
	{name: "no YAML", path: "hostile.yaml", text: "\x00\x01\xff"},
	{name: "a million documents", path: "hostile.yaml", text: strings.Repeat("---\n", 200_000)},
	{name: "a merge of itself", path: "hostile.yaml", text: "a: &a\n  <<: *a\n"},
	{name: "an object twice", path: "hostile.yaml", text: clusterType("twice") + "\n---\n" + clusterType("twice")},
	{name: "the output goes into the control plane", path: "gitops-repo.yaml", text: kalypsoObject("GitOpsRepo", "hostile", "  repo: CONTROL\n  branch: main\n  path: .\n")},
	{name: "the output goes to calm", path: "gitops-repo.yaml", text: kalypsoObject("GitOpsRepo", "hostile", "  repo: http://127.0.0.1:1/out.git\n  branch: calm\n  path: cloud\n")},
	{name: "the output goes to metadata", path: "gitops-repo.yaml", text: kalypsoObject("GitOpsRepo", "hostile", "  repo: http://169.254.169.254/latest\n  branch: dev\n  path: .\n")},
	{name: "the output goes up", path: "gitops-repo.yaml", text: kalypsoObject("GitOpsRepo", "hostile", "  repo: /etc\n  branch: dev\n  path: ../../..\n")},
	{name: "a base that is not there", path: "base-repo.yaml", text: kalypsoObject("BaseRepo", "main", "  repo: http://127.0.0.1:1/cp.git\n  branch: main\n  path: .\n  commit: "+strings.Repeat("a", 40)+"\n")},
	{name: "an ignore of everything", path: ".sourceignore", text: "*\n!nothing\n/**\n"},
	{name: "a .sourceignore of great size", path: ".sourceignore", text: strings.Repeat("**/*a*/**\n", 20_000)},
	{name: "environments that cannot be branches", path: ".environments/hostile.yaml", text: kalypsoObject("Environment", "x.lock", "  controlPlane: {repo: x, branch: x.lock, path: .}\n")},
	{name: "environments that are no YAML", path: ".environments/hostile.yaml", text: "{{{{"},
	{name: "a promotion that goes in circles", path: ".fairlead/promotion.yaml", text: "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec:\n  environments:\n  - {name: dev, after: [stage]}\n  - {name: stage, after: [dev]}\n"},
	{name: "a promotion that is no YAML", path: ".fairlead/promotion.yaml", text: "]"},
	{name: "a hold that is a link", path: ".fairlead/holds/dev.yaml", text: "/etc/passwd", link: true},
	{name: "a hold that is a folder", path: ".fairlead/holds/dev.yaml/x", text: "x"},
	{name: "a freeze of nothing", path: ".fairlead/freezes/x.yaml", text: "apiVersion: fairlead.io/v1alpha1\nkind: Freeze\nmetadata: {name: x}\nspec: {}\n"},
	{name: "a link to itself", path: "configs", text: "configs", link: true},
	{name: "a link out of the repository", path: "hostile.yaml", text: "/etc/passwd", link: true},
	{name: "a kustomization", path: "kustomization.yaml", text: "resources: [../../.., https://git.example.com/x, hostile.yaml]\n"},
	{name: "a large file", path: "hostile.yaml", text: "a: " + strings.Repeat("x", 8<<20)},
	{name: "many bad objects", path: "hostile.yaml", text: strings.Repeat(clusterType("a b")+"---\n", 20_000)},
}

// hostileValues are what fields are set to.
var hostileValues = []string{
	"", "null", "~", "[]", "{}", "true", "1e999", ".nan", "-1", "99999999999999999999", `""`, `" "`, `"."`, `".."`, `"../.."`, `"a/b"`, `"/"`, `"-x"`,
	`"--upload-pack=touch /tmp/x"`, `".git"`, `"x.lock"`, `"@{-1}"`, `"HEAD"`, `"refs/heads/main"`, `"fairlead/calm"`, `"calm"`, `"main"`,
	`"{{ . }}"`, `"{{"`, `"}}"`, `"{{ fail \"x\" }}"`, `"\0"`, `"\u202e"`, `"x\ny"`, `"${x}"`, `"$(x)"`, "`x`", "!!binary aGk=", "!!float x", "*nothing", "&a [*a]",
	`"file:///etc"`, `"http://127.0.0.1:1/x"`, `"http://[::ffff:169.254.169.254]/"`, `"ssh://-oProxyCommand=x/y"`, `"ext::sh -c x"`, strings.Repeat("x", 300),
	"|\n      two\n      lines", "2026-01-01", "0x10", "0o17", "1:30", "yes", "<<", "?", "- x",
}
