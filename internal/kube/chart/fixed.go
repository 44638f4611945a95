package chart

import (
	"strings"
	"text/template"
	"time"
)

// fixedFunctions replaces sprig's functions whose results change from call to call, so that two
// renderings differ only in what the charts and values say.
func fixedFunctions() template.FuncMap {
	drawn := func(n int) string { return strings.Repeat("x", min(max(n, 0), maxDrawn)) }
	pair := func(...any) certificate { return certificate{Cert: placeholder, Key: placeholder} }
	text := func(...any) string { return placeholder }
	now := func() time.Time { return time.Unix(0, 0).UTC() }
	return template.FuncMap{
		"randAlphaNum": drawn, "randAlpha": drawn, "randAscii": drawn, "randNumeric": func(n int) string { return strings.ReplaceAll(drawn(n), "x", "1") },
		"randBytes": func(n int) (string, error) { return drawn(n), nil }, "randInt": func(from, _ int) int { return from }, "shuffle": func(s string) string { return s },
		"uuidv4": func() string { return "00000000-0000-4000-8000-000000000000" }, "now": now,
		"ago": text, "bcrypt": text, "htpasswd": text, "encryptAES": text, "derivePassword": text, "genPrivateKey": text,
		"genCA": pair, "genCAWithKey": pair, "genSelfSignedCert": pair, "genSelfSignedCertWithKey": pair, "genSignedCert": pair, "genSignedCertWithKey": pair, "buildCustomCert": pair,
	}
}

const (
	maxDrawn    = 4096
	placeholder = "generated"
)

type certificate struct{ Cert, Key string }
