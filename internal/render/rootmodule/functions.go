package rootmodule

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// functions are those of Terraform 1.11 and OpenTofu 1.9. Providers have more, in namespaces.
var functions = strings.Fields(`abs abspath alltrue anytrue base64decode base64encode base64gunzip base64gzip base64sha256
	base64sha512 basename bcrypt can ceil chomp chunklist cidrcontains cidrhost cidrnetmask cidrsubnet cidrsubnets coalesce
	coalescelist compact concat contains csvdecode dirname distinct element endswith ephemeralasnull file filebase64
	filebase64sha256 filebase64sha512 fileexists filemd5 fileset filesha1 filesha256 filesha512 flatten floor format formatdate
	formatlist indent index issensitive join jsondecode jsonencode keys length log lookup lower matchkeys max md5 merge min
	nonsensitive one parseint pathexpand plantimestamp pow range regex regexall replace reverse rsadecrypt sensitive
	setintersection setproduct setsubtract setunion sha1 sha256 sha512 signum slice sort split startswith strcontains strrev
	substr sum templatefile templatestring textdecodebase64 textencodebase64 timeadd timecmp timestamp title tobool tolist tomap
	tonumber toset tostring transpose trim trimprefix trimspace trimsuffix try upper urldecode urlencode uuid uuidv5 values
	yamldecode yamlencode zipmap`)

func listCalls(e hcl.Expression) []string {
	node, ok := e.(hclsyntax.Node)
	if !ok {
		return nil
	}
	var all []string
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			all = append(all, call.Name)
		}
		return nil
	})
	return all
}

func (g *generator) checkFunctions(in input) {
	for _, name := range listCalls(in.value) {
		name = strings.TrimPrefix(name, "core::")
		if !strings.Contains(name, "::") && !slices.Contains(functions, name) {
			g.problems.Addf(in.pos, g.component.Stack.Subject(), problem.DidYouMean(name, functions), "component %s: the variable %s calls %s, which is no function of Terraform", g.component.Name, in.name, name)
		}
	}
}
