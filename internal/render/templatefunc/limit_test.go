package templatefunc

import (
	"strings"
	"testing"
)

const (
	tooLong   = "longer than 1 MiB"
	tooBig    = "more than 10,000 elements, 1 MiB of text or 100 levels of nesting, or contains itself"
	tooMuch   = "takes more than 64 MiB"
	anAddress = "prints an address"
)

func TestLimits(t *testing.T) {
	functions := Map(unlimited())
	half, lines := strings.Repeat("x", 600<<10), strings.Repeat("\n", 600<<10)
	for _, test := range []struct{ name, template, want string }{
		{"repeat", `{{ repeat 2000000 "x" }}`, tooLong},
		{"repeat of much", `{{ repeat 2 .Half }}`, tooLong},
		{"repeat without end", `{{ repeat 9223372036854775807 "xx" }}`, tooLong},
		{"indent width", `{{ indent 2000000 "x" }}`, tooLong},
		{"indent lines", `{{ indent 2 .Lines }}`, tooLong},
		{"nindent", `{{ nindent 9223372036854775807 .Lines }}`, tooLong},
		{"replace", `{{ replace "x" .Half .Half }}`, tooLong},
		{"replace of nothing", `{{ replace "" .Half .Half }}`, tooLong},
		{"join separator", `{{ join .Half (list 1 2 3) }}`, tooLong},
		{"join elements", `{{ join "," .Halves }}`, tooLong},
		{"wrapWith", `{{ wrapWith 1 .Half .Half }}`, tooMuch},
		{"regexReplaceAll", `{{ regexReplaceAll "x" .Half .Half }}`, tooMuch},
		{"regexReplaceAll groups", `{{ regexReplaceAll "(x+)" .Half (repeat 200 "$1") }}`, tooMuch},
		{"regexReplaceAllLiteral", `{{ regexReplaceAllLiteral "" .Half .Half }}`, tooMuch},
		{"cat", `{{ cat .Half .Half }}`, tooBig},
		{"quote", `{{ quote .Lines }}`, tooLong},
		{"toJson", `{{ toJson .Lines }}`, tooLong},
		{"toYaml", `{{ toYaml .Lines }}`, tooLong},
		{"stringify", `{{ stringify .Lines }}`, tooLong},
		{"b64enc", `{{ b64enc (cat .Half (repeat 300000 "-")) }}`, tooLong},
		{"toTfvars", `{{ toTfvars (dict "a" .Lines) }}`, tooLong},
		{"toEnv", `{{ toEnv (dict "a" (repeat 300000 "'")) }}`, tooLong},
		{"print", `{{ print .Half .Half }}`, tooBig},
		{"println", `{{ println .Half .Half }}`, tooBig},
		{"html", `{{ html (repeat 600000 "<") }}`, tooLong},
		{"js, doubled again and again", `{{ $s := "\\" }}{{ range until 100 }}{{ $s = js $s }}{{ end }}`, tooLong},
		{"urlquery", `{{ urlquery .Lines }}`, tooLong},
		{"printf", `{{ printf "%s%s" .Half .Half }}`, tooBig},
		{"printf widths", `{{ printf (repeat 70000 "%[1]999999d") 1 }}`, tooMuch},
		{"printf width of an argument", `{{ printf (repeat 70000 "%[1]*[1]d") (int64 999999) }}`, tooMuch},
		{"printf precision of a list", `{{ printf "%.999999f" .List }}`, tooMuch},
		{"printf one argument often", `{{ printf (repeat 1000 "%[1]s") .Half }}`, tooMuch},

		{"until", `{{ until 10001 }}`, tooBig},
		{"until below", `{{ until -10001 }}`, tooBig},
		{"untilStep", `{{ untilStep 0 20001 2 }}`, tooBig},
		{"untilStep overflow", `{{ untilStep 9223372036854775800 9223372036854775807 10 }}`, "too large"},
		{"split", `{{ split "x" .Half }}`, tooBig},
		{"split into letters", `{{ split "" .Half }}`, tooBig},
		{"splitList", `{{ splitList "\n" .Lines }}`, tooBig},
		{"splitn", `{{ splitn "\n" -1 .Lines }}`, tooBig},
		{"splitn with a number", `{{ splitn "\n" 20000 .Lines }}`, tooBig},
		{"regexFindAll", `{{ regexFindAll "x" .Half -1 }}`, tooBig},
		{"regexSplit", `{{ regexSplit "x" .Half 20000 }}`, tooBig},
		{"concat", `{{ concat .List .List }}`, tooBig},
		{"append", `{{ $l := until 10000 }}{{ append $l 1 }}`, tooBig},
		{"dict", `{{ dict "a" .List "b" .List }}`, tooBig},
		{"set", `{{ set .Dict "b" .List }}{{ set .Dict "c" .List }}`, tooBig},
		{"list, doubled again and again", `{{ $l := list 1 }}{{ range until 50 }}{{ $l = list $l $l }}{{ end }}`, tooBig},
		{"list, deeper again and again", `{{ $l := list 1 }}{{ range until 200 }}{{ $l = list $l }}{{ end }}`, tooBig},
		{"dict in itself", `{{ set .Dict "self" .Dict }}`, tooBig},
		{"dict in its own part", `{{ set .Dict.a "self" .Dict }}`, tooBig},
		{"dict in itself twice", `{{ set .Dict "self" (list .Dict .Dict) }}`, tooBig},

		{"address of a map", `{{ printf "%p" .Dict }}`, anAddress},
		{"address with flags", `{{ printf "%s %-+[2]*[1]p" .Dict 3 }}`, anAddress},
		{"address of a version", `{{ printf "%d" (list (semver "1.2.3")) }}`, anAddress},
		{"address of a version in Go", `{{ printf "%#v" (dict "a" (list (semver "1.2.3"))) }}`, anAddress},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := expand(functions, test.template, map[string]any{
				"Half":   half,
				"Lines":  lines,
				"Halves": []string{half, half},
				"List":   make([]any, 6000),
				"Dict":   map[string]any{"a": map[string]any{}},
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%.80q and error %v, want an error with %q", got, err, test.want)
			}
		})
	}
}

func TestWithinLimits(t *testing.T) {
	functions := Map(unlimited())
	data := map[string]any{
		"Text": strings.Repeat("x", 1<<20),
		"Dict": map[string]any{"a": map[string]any{"b": 1}},
	}
	for _, test := range []struct{ name, template, want string }{
		{"a text of 1 MiB", `{{ len (upper .Text) }} {{ len (repeat 1048576 "x") }} {{ len (indent 1048575 "x") }}`, "1048576 1048576 1048576"},
		{"10,000 elements", `{{ len (until 10000) }} {{ len (until -10000) }} {{ len (untilStep 1 20000 2) }}`, "10000 10000 10000"},
		{"10,000 pieces", `{{ len (splitList "," (repeat 9999 ",")) }} {{ len (split "" (repeat 10000 "x")) }}`, "10000 10000"},
		{"10,000 matches", `{{ len (regexFindAll "x" (repeat 10000 "x") -1) }} {{ len (regexSplit "x" .Text 10000) }}`, "10000 10000"},
		{"100 levels", `{{ $l := list }}{{ range until 99 }}{{ $l = list $l }}{{ end }}{{ len (toString $l) }}`, "200"},
		{"a replacement with few matches", `{{ len (regexReplaceAll "^xx+" .Text (repeat 1000 "y")) }}`, "1000"},
		{"a merge with itself", `{{ merge .Dict .Dict }} {{ mergeOverwrite .Dict .Dict (dict "c" .Dict) }}`,
			"map[a:map[b:1]] map[a:map[b:1] c:map[a:map[b:1]]]"},
		{"a merge of shared parts", `{{ $m := dict "k" 1 }}{{ $d := dict "a" $m "b" $m }}{{ merge $d (dict "a" (dict "x" $m) "b" $m) }}`,
			"map[a:map[k:1 x:map[k:1]] b:map[k:1 x:map[k:1]]]"},
		{"a version", `{{ printf "%s %v %%" (semver "1.2") (list (semver "1.2")) }} {{ printf "%d %q" 3 (semver "1.2") }}`, `1.2.0 [1.2.0] % 3 "1.2.0"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := expand(functions, test.template, data)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %.200q, want %q", got, test.want)
			}
		})
	}
}

// A mistake in a call is an error with the place of the call, never a panic.
func TestMistakes(t *testing.T) {
	functions := Map(unlimited())
	for _, test := range []struct{ template, want string }{
		{"{{ fail \"no region\" }}", `test:1:3: executing "test" at <fail "no region">: error calling fail: no region`},
		{"\n{{ first 1 }}", "test:2:3: executing \"test\" at <first 1>: error calling first: Cannot find first on type int"},
		{"{{ first .Nothing }}", "error calling first:"},
		{"{{ div 1 0 }}", "error calling div: runtime error: integer divide by zero"},
		{"{{ repeat -1 .Text }}", "error calling repeat: strings: negative Repeat count"},
		{"{{ indent -1 .Text }}", "error calling indent: the number of spaces is negative"},
		{"{{ nindent -1 .Text }}", "error calling nindent: the number of spaces is negative"},
		{"{{ trunc -1 .Text }}", "error calling trunc: runtime error: slice bounds out of range"},
		{"{{ regexFind \"[\" .Text }}", "error calling regexFind: error parsing regexp"},
		{"{{ regexFindAll \"[\" .Text 1 }}", "error calling regexFindAll: error parsing regexp"},
		{"{{ regexSplit \"[\" .Text 1 }}", "error calling regexSplit: error parsing regexp"},
		{"{{ urlParse \":\" }}", "error calling urlParse: unable to parse url"},
		{"{{ semver \"x\" }}", "error calling semver: Invalid Semantic Version"},
		{"{{ keys .Labels }}", "wrong type for value; expected map[string]interface {}; got map[string]string"},
		{"{{ hasKey .Parsed \"k\" }}", "wrong type for value"},
		{"{{ decryptAES \"k\" \"YQ==\" }}", "error calling decryptAES: runtime error"},
		{"{{ toEnv .List }}", "error calling toEnv: the value is not a map"},
	} {
		_, err := expand(functions, test.template, sample())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.template, err, test.want)
		}
	}
}
