package templatefunc

// row is one call of a function: a template and what it gives with sample data.
type row struct{ function, template, want string }

// sample is data of the types that templates see. Each call gives data of its own.
func sample() map[string]any {
	return map[string]any{
		"Text":      "north sea",
		"Port":      "8080",
		"List":      []any{"b", "a", "c", "a"},
		"Parsed":    map[any]any{"k": "v", "num": 1, "list": []any{1, "x", nil}},
		"Dict":      map[string]any{"b": "two", "a": "one", "in": map[string]any{"x": 1}, "none": nil},
		"Labels":    map[string]string{"region": "north", "size": "big"},
		"DependsOn": []string{"z", "y"},
		"Nothing":   nil,
	}
}

// sprigRows has a row or more for each function that sprig and text/template have
// too. But for keys and values they give the same there.
var sprigRows = []row{
	// strings
	{"hello", `{{ hello }}`, `Hello!`},
	{"abbrev", `{{ abbrev 6 .Text }}`, `nor...`},
	{"abbrevboth", `{{ abbrevboth 5 7 "1234 5678 9123" }}`, `...5...`},
	{"trunc", `{{ trunc 5 .Text }}`, `north`},
	{"trim", `[{{ trim "  x " }}]`, `[x]`},
	{"upper", `{{ upper .Text }}`, `NORTH SEA`},
	{"lower", `{{ lower "ÄB" }}`, `äb`},
	{"title", `{{ title .Text }}`, `North Sea`},
	{"untitle", `{{ untitle "North Sea" }}`, `north sea`},
	{"substr", `{{ substr 1 4 .Text }}`, `ort`},
	{"repeat", `{{ repeat 3 "ab" }}`, `ababab`},
	{"trimall", `{{ trimall "$" "$5.00$" }}`, `5.00`},
	{"trimAll", `{{ trimAll "-" "--x-" }}`, `x`},
	{"trimSuffix", `{{ trimSuffix "sea" .Text }}`, `north `},
	{"trimPrefix", `{{ trimPrefix "north" .Text }}`, ` sea`},
	{"nospace", `{{ nospace "a b  c" }}`, `abc`},
	{"initials", `{{ initials "North Sea port" }}`, `NSp`},
	{"swapcase", `{{ swapcase "North Sea" }}`, `nORTH sEA`},
	{"snakecase", `{{ snakecase "NorthSeaHTTP2Server" }}`, `north_sea_http2_server`},
	{"kebabcase", `{{ kebabcase "NorthSeaPort" }}`, `north-sea-port`},
	{"wrap", `{{ wrap 5 "the north sea" }}`, "the\nnorth\nsea"},
	{"wrapWith", `{{ wrapWith 5 "|" "the northern sea" }}`, `the|north|ern|sea`},
	{"contains", `{{ contains "sea" .Text }}`, `true`},
	{"hasPrefix", `{{ hasPrefix "no" .Text }}`, `true`},
	{"hasSuffix", `{{ hasSuffix "no" .Text }}`, `false`},
	{"quote", `{{ quote .Text nil 1 "a\"\n" }}`, `"north sea" "1" "a\"\n"`},
	{"squote", `{{ squote .Text nil 1 }}`, `'north sea' '1'`},
	{"cat", `{{ cat .Text nil 1 true }}`, `north sea 1 true`},
	{"indent", `{{ indent 2 "a\n\nb\n" }}|`, "  a\n  \n  b\n  |"},
	{"indent", `{{ indent 0 "" }}|{{ indent 3 "" }}|`, `|   |`},
	{"nindent", `{{ nindent 2 "a\nb" }}`, "\n  a\n  b"},
	{"replace", `{{ replace " " "-" .Text }}{{ replace "" "." "ab" }}`, `north-sea.a.b.`},
	{"plural", `{{ plural "one" "many" 1 }} {{ plural "one" "many" 2 }}`, `one many`},
	{"sha1sum", `{{ sha1sum .Text }}`, `078947871cfe69f396235c8515bc8a64bd292479`},
	{"sha256sum", `{{ sha256sum .Text | trunc 12 }}`, `51a6f24a4833`},
	{"adler32sum", `{{ adler32sum .Text }}`, `306250629`},
	{"toString", `{{ toString .Dict }} {{ toString .Parsed.list }} {{ toString nil }}`, `map[a:one b:two in:map[x:1] none:<nil>] [1 x <nil>] <nil>`},

	// numbers
	{"atoi", `{{ add (atoi .Port) 1 }} {{ atoi "x" }}`, `8081 0`},
	{"int64", `{{ int64 "12" }}`, `12`},
	{"int", `{{ int 3.9 }}`, `3`},
	{"float64", `{{ float64 "1.5" }}`, `1.5`},
	{"toDecimal", `{{ toDecimal "755" }}`, `493`},
	{"until", `{{ until 3 }} {{ until -2 }} {{ until 0 }}`, `[0 1 2] [0 -1] []`},
	{"untilStep", `{{ untilStep 3 9 3 }} {{ untilStep 3 0 -2 }} {{ untilStep 0 3 0 }}`, `[3 6] [3 1] []`},
	{"add1", `{{ add1 .Port }}`, `8081`},
	{"add", `{{ add 1 2 "3" }}`, `6`},
	{"sub", `{{ sub 1 2 }}`, `-1`},
	{"div", `{{ div 7 2 }}`, `3`},
	{"mod", `{{ mod 7 2 }}`, `1`},
	{"mul", `{{ mul 2 3 4 }}`, `24`},
	{"biggest", `{{ biggest 1 5 3 }}`, `5`},
	{"max", `{{ max 1 5 3 }}`, `5`},
	{"min", `{{ min 4 "2" 3 }}`, `2`},
	{"ceil", `{{ ceil 1.2 }}`, `2`},
	{"floor", `{{ floor 1.8 }}`, `1`},
	{"round", `{{ round 1.255 2 }} {{ round 2.5 0 }}`, `1.25 3`},

	// lists
	{"list", `{{ list 1 "a" nil }}`, `[1 a <nil>]`},
	{"tuple", `{{ tuple 1 2 }}`, `[1 2]`},
	{"append", `{{ append .List "d" }} {{ .List }}`, `[b a c a d] [b a c a]`},
	{"push", `{{ push .DependsOn "x" }}`, `[z y x]`},
	{"prepend", `{{ prepend .List "d" }}`, `[d b a c a]`},
	{"first", `{{ first .List }}`, `b`},
	{"rest", `{{ rest .List }}`, `[a c a]`},
	{"last", `{{ last .List }}`, `a`},
	{"initial", `{{ initial .List }}`, `[b a c]`},
	{"reverse", `{{ reverse .List }}`, `[a c a b]`},
	{"uniq", `{{ uniq .List }}`, `[b a c]`},
	{"without", `{{ without .List "a" }}`, `[b c]`},
	{"has", `{{ has "a" .List }} {{ has "z" .List }}`, `true false`},
	{"slice", `{{ slice .List 1 3 }}`, `[a c]`},
	{"concat", `{{ concat .List .DependsOn }}`, `[b a c a z y]`},
	{"compact", `{{ compact (list 0 "" "a" nil 1) }}`, `[a 1]`},
	{"sortAlpha", `{{ sortAlpha .List }} {{ sortAlpha .DependsOn }} {{ .DependsOn }}`, `[a a b c] [y z] [y z]`},
	{"join", `{{ join "+" .List }} {{ join "," .Parsed.list }} {{ join "," 7 }} {{ join "," nil }}.`, `b+a+c+a 1,x 7 .`},
	{"split", `{{ (split "/" "a/b")._1 }} {{ split "/" "a/b" }}`, `b map[_0:a _1:b]`},
	{"splitList", `{{ splitList "," "a,b,c" }}`, `[a b c]`},
	{"splitn", `{{ splitn "/" 2 "a/b/c" }}`, `map[_0:a _1:b/c]`},
	{"toStrings", `{{ toStrings .Parsed.list }}`, `[1 x]`},

	// dictionaries
	{"dict", `{{ dict "b" 1 "a" 2 "odd" }}`, `map[a:2 b:1 odd:]`},
	{"set", `{{ set .Dict "c" 3 }} {{ .Dict.c }}`, `map[a:one b:two c:3 in:map[x:1] none:<nil>] 3`},
	{"unset", `{{ unset .Dict "a" }} {{ .Dict }}`, `map[b:two in:map[x:1] none:<nil>] map[b:two in:map[x:1] none:<nil>]`},
	{"hasKey", `{{ hasKey .Dict "a" }} {{ hasKey .Dict "zz" }}`, `true false`},
	{"pluck", `{{ pluck "a" .Dict (dict "a" 7) (dict) }}`, `[one 7]`},
	{"pick", `{{ pick .Dict "a" "b" "zz" }}`, `map[a:one b:two]`},
	{"omit", `{{ omit .Dict "a" "in" }}`, `map[b:two none:<nil>]`},
	{"merge", `{{ merge .Dict (dict "a" 7 "d" 8 "in" (dict "x" 2 "y" 3)) }}`, `map[a:one b:two d:8 in:map[x:1 y:3] none:<nil>]`},
	{"mergeOverwrite", `{{ mergeOverwrite .Dict (dict "a" 7 "d" 8 "in" (dict "x" 2 "y" 3)) }}`, `map[a:7 b:two d:8 in:map[x:2 y:3] none:<nil>]`},
	{"keys", `{{ keys .Dict }} {{ keys (dict "z" 1 "y" 2) (dict "x" 3) }} {{ keys }}`, `[a b in none] [y z x] []`},
	{"values", `{{ values .Dict }}`, `[one two map[x:1] <nil>]`},
	{"deepCopy", `{{ deepCopy .Dict }}`, `map[a:one b:two in:map[x:1] none:<nil>]`},

	// defaults and JSON
	{"default", `{{ .Nothing | default "x" }} {{ default "x" .Text }} {{ default "x" "" }}`, `x north sea x`},
	{"empty", `{{ empty 0 }} {{ empty .List }}`, `true false`},
	{"coalesce", `{{ coalesce nil "" 0 .Text }}`, `north sea`},
	{"ternary", `{{ ternary "a" "b" true }}`, `a`},
	{"toJson", `{{ toJson .Labels }} {{ toJson .Dict }} [{{ toJson .Parsed }}] {{ toJson "<&>" }}`, `{"region":"north","size":"big"} {"a":"one","b":"two","in":{"x":1},"none":null} [] "\u003c\u0026\u003e"`},
	{"toPrettyJson", `{{ toPrettyJson .Labels }}`, "{\n  \"region\": \"north\",\n  \"size\": \"big\"\n}"},

	// reflection
	{"typeOf", `{{ typeOf .Dict }} {{ typeOf .Parsed }} {{ typeOf nil }}`, `map[string]interface {} map[interface {}]interface {} <nil>`},
	{"typeIs", `{{ typeIs "string" .Text }}`, `true`},
	{"typeIsLike", `{{ typeIsLike "string" .Text }}`, `true`},
	{"kindOf", `{{ kindOf .List }} {{ kindOf nil }}`, `slice invalid`},
	{"kindIs", `{{ kindIs "map" .Parsed }}`, `true`},
	{"deepEqual", `{{ deepEqual .List .List }}`, `true`},

	// paths and URLs
	{"base", `{{ base "a/b.c" }}`, `b.c`},
	{"dir", `{{ dir "a/b.c" }}`, `a`},
	{"clean", `{{ clean "a/../b//c" }}`, `b/c`},
	{"ext", `{{ ext "a/b.c" }}`, `.c`},
	{"isAbs", `{{ isAbs "/a" }}`, `true`},
	{"urlParse", `{{ urlParse "https://u:p@host:80/p?q=1#f" }}`, `map[fragment:f host:host:80 hostname:host opaque: path:/p query:q=1 scheme:https userinfo:u:p]`},
	{"urlJoin", `{{ urlJoin (dict "scheme" "https" "host" "h:1" "path" "/a b" "query" "q=1") }}`, `https://h:1/a%20b?q=1`},
	{"urlquery", `{{ urlquery "a b&c" 1 }}`, `a+b%26c1`},

	// encodings and checksums
	{"b64enc", `{{ b64enc .Text }}`, `bm9ydGggc2Vh`},
	{"b64dec", `{{ b64dec "bm9ydGggc2Vh" }} {{ b64dec "?" }}`, `north sea illegal base64 data at input byte 0`},
	{"b32enc", `{{ b32enc "ab" }}`, `MFRA====`},
	{"b32dec", `{{ b32dec "MFRA====" }}`, `ab`},
	{"decryptAES", `{{ decryptAES "key" "dvU6IahppwDezkaif9Fv5X8ZQY4hBTzKxkLECHYg1Hg=" }}`, `north sea`},

	// versions and flow
	{"semver", `{{ (semver "1.2.3-rc.1+b").Prerelease }} {{ semver "v1.2" }} {{ list (semver "1.2") }}`, `rc.1 1.2.0 [1.2.0]`},
	{"semverCompare", `{{ semverCompare "^1.2.0" "1.3.0" }} {{ semverCompare ">2" "1.3.0" }}`, `true false`},

	// regular expressions
	{"regexMatch", `{{ regexMatch "^n" .Text }} {{ regexMatch "[" .Text }}`, `true false`},
	{"regexFindAll", `{{ regexFindAll "[a-z]{2}" .Text -1 }} {{ regexFindAll "[a-z]{2}" .Text 2 }} {{ regexFindAll "x" .Text -1 }}`, `[no rt se] [no rt] []`},
	{"regexFind", `{{ regexFind "s.a" .Text }}`, `sea`},
	{"regexReplaceAll", `{{ regexReplaceAll "(o|e)" .Text "<${1}>" }}`, `n<o>rth s<e>a`},
	{"regexReplaceAllLiteral", `{{ regexReplaceAllLiteral "(o|e)" .Text "$1" }}`, `n$1rth s$1a`},
	{"regexSplit", `{{ regexSplit "[oe]" .Text -1 }} {{ regexSplit "[oe]" .Text 2 }} {{ regexSplit "x" .Text 0 }}`, `[n rth s a] [n rth sea] []`},

	// text/template's
	{"print", `{{ print 1 2 "a" "b" 3 }} {{ print .Dict }}`, `1 2ab3 map[a:one b:two in:map[x:1] none:<nil>]`},
	{"printf", `{{ printf "%s-%03d %v %q %-6s| %% %*d %[1]s" .Text 7 .List "x" "ab" 4 5 }}`, `north sea-007 [b a c a] "x" ab    | %    5 north sea`},
	{"println", `{{ println 1 "a" }}`, "1 a\n"},
	{"html", `{{ html "<a&\"'>" 1 }}`, `&lt;a&amp;&#34;&#39;&gt;1`},
	{"js", `{{ js "it's \"<x>\"" }}`, `it\'s \"\u003Cx\u003E\"`},
}

// ownRows has a row or more for each function that sprig does not have.
var ownRows = []row{
	{"camelcase", `{{ camelcase "north_sea" }} {{ camelcase "GOLANG_IS_GREAT" }} {{ camelcase "north-sea x" }} {{ camelcase "_complex__case_" }} {{ camelcase "__" }}`, `NorthSea GOLANGISGREAT NorthSeaX _Complex_Case_ ___`},
	{"toYaml", `{{ toYaml .Dict }}`, "a: one\nb: two\nin:\n    x: 1\nnone: null"},
	{"toYaml", `{{ toYaml .Labels }}`, "region: north\nsize: big"},
	{"toYaml", `{{ toYaml .DependsOn }}`, "- z\n- \"y\""},
	{"stringify", `{{ stringify .Dict }}`, "a: one\nb: two\nin: |\n    x: 1\nnone: null"},
	{"hash", `{{ hash .Text }} {{ hash .Parsed }} {{ hash nil }}`, `638069268473230763 1699337129811549171 12161962213042174405`},
	{"unquote", `[{{ unquote "  \"'x y'\" " }}] [{{ unquote "'a'b'" }}] [{{ unquote 7 }}]`, `[x y] [a'b] []`},
	{"toTfvars", `{{ toTfvars .Labels }}`, "region = \"north\"\nsize   = \"big\""},
	{"toEnv", `{{ toEnv .Labels }}`, "region='north'\nsize='big'"},
}
