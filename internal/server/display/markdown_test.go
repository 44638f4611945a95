package display

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pullBody = "- **What:** add `shop-main` to `cloud`, 2 \\<b\\> &lt;c&gt; and \\_d\\_\n\n\n" +
	"### Why\n\n- `base`:\n  - [`aaaaaaa`](https://git.example.com/c/aaaaaaa) Raise \\[it\\] (Ada)\n\n" +
	"<details><summary>assignment added: `1`</summary>\n\n- in ``a`b``\n\n</details>\n\n" +
	"> [!IMPORTANT]\n> Fairlead does not merge this:\n> - held\n\n" +
	"| layer | commit |\n|---|---|\n| `base` | [`aaaaaaa`](https://git.example.com/c/aaaaaaa) |\n| `platform` | `b<br>`<br>two |\n\n" +
	"```sh\nfairlead render -e prod \\\n  --out '*out*'\n```\n\n```diff\n-old\n+new\n```\n<!-- fairlead-digest: sha256:fc\nmore -->\n"

// TestFormatMarkdown: the text of a pull request can be read where Markdown is not rendered.
func TestFormatMarkdown(t *testing.T) {
	want := `- What: add shop-main to cloud, 2 <b> <c> and _d_

Why

- base:
  - aaaaaaa (https://git.example.com/c/aaaaaaa) Raise [it] (Ada)

assignment added: 1:

- in a` + "`" + `b

  IMPORTANT
  Fairlead does not merge this:
  - held

layer     commit
base      aaaaaaa (https://git.example.com/c/aaaaaaa)
platform  b<br>, two

fairlead render -e prod \
  --out '*out*'

-old
+new
`
	if diff := cmp.Diff(want, NewStream(&bytes.Buffer{}).FormatMarkdown(pullBody)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	colourful := NewTerminal(&bytes.Buffer{}, 200).FormatMarkdown(pullBody)
	for _, part := range []string{Bold + "What:" + reset, Bold + "Why" + reset, Yellow + "IMPORTANT" + reset, Red + "-old" + reset, Green + "+new" + reset} {
		if !strings.Contains(colourful, part) {
			t.Errorf("on a terminal it lacks %q: %q", part, colourful)
		}
	}
}

// TestFormatHostileMarkdown: what people write cannot take the terminal over, and ends.
func TestFormatHostileMarkdown(t *testing.T) {
	for body, want := range map[string]string{
		"":                      "\n",
		"a \x1b[31m b":          "a \ufffd[31m b\n",
		"&#27;[31m":             "\ufffd[31m\n",
		"`open":                 "`open\n",
		"**open":                "**open\n",
		"[a](b":                 "[a](b\n",
		"[a](b c)":              "[a](b c)\n",
		"\\":                    "\\\n",
		"<!-- open":             "<!-- open\n",
		"```\n# code\n| a |":    "# code\n| a |\n",
		"| a | b |\n| c |":      "a  b\nc\n",
		"<details>\n</details>": "\n",
	} {
		got := NewStream(&bytes.Buffer{}).FormatMarkdown(body)
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%q is %q, want %q", body, got, want)
		}
	}
}

func TestPaintDiff(t *testing.T) {
	diff := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n c"
	if got := NewStream(&bytes.Buffer{}).PaintDiff(diff); got != diff {
		t.Errorf("in a pipe it is %q", got)
	}
	want := Bold + "diff --git a/x b/x" + reset + "\n" + Bold + "--- a/x" + reset + "\n" + Bold + "+++ b/x" + reset + "\n" +
		Dim + "@@ -1 +1 @@" + reset + "\n" + Red + "-a" + reset + "\n" + Green + "+b" + reset + "\n c"
	if got := NewTerminal(&bytes.Buffer{}, 80).PaintDiff(diff); got != want {
		t.Errorf("on a terminal it is %q", got)
	}
}

// TestFormatGraph: a graph is text where nothing draws it, and what is no graph of ours is named.
func TestFormatGraph(t *testing.T) {
	for body, want := range map[string]string{
		"a\n\n```mermaid\ngraph TD\n  s1[\"1. add nodes to compute pool a\"]\n  s2[\"2. remove nodes\"]\n  s1 --> s2\n  classDef outage stroke-width:4px\n  class s2 outage\n```\n\nb": "a\n\n1. add nodes to compute pool a\n2. remove nodes (after 1)\n\nb\n",
		"```mermaid\ngraph TD\n  n1[\"net: added\"]\n  n2[\"eks: added, waits for approval\"]\n  n3[\"app\"]\n  n1 --> n2\n  n2 --> n3\n  n1 --> n3\n  gone --> n3\n```\n":             "net: added\neks: added, waits for approval (after net)\napp (after eks, net)\n",
		"```mermaid\npie\n  \"a\" : 1\n```\nb":          "(a diagram, which the page of a forge draws)\nb\n",
		"```mermaid\ngraph TD\n  s1[\"\x1b[31m\"]\n```": "\ufffd[31m\n",
		"```mermaid\ngraph TD\n  s1[\"open\"]":          "",
	} {
		if got := NewStream(&bytes.Buffer{}).FormatMarkdown(body); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}
