package rootmodule

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// maxNesting bounds how deep brackets and templates are nested, and maxRecursion the operators
	// that nest without brackets: the parser calls itself for each, and a stack that overflows
	// ends the whole program.
	maxNesting   = 200
	maxRecursion = 5_000
)

// checkNesting returns why a text must not be parsed.
func checkNesting(tokens hclsyntax.Tokens) error {
	depth, deepest, recursions := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
			hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc,
			hclsyntax.TokenTemplateSeqEnd:
			depth--
		case hclsyntax.TokenMinus, hclsyntax.TokenBang, hclsyntax.TokenQuestion:
			recursions++
		}
		if t.Type == hclsyntax.TokenTemplateControl { // the end of an if or a for is one too
			recursions++
		}
		deepest = max(deepest, depth)
	}
	if deepest > maxNesting {
		return fmt.Errorf("it is nested %d deep, and %d is the limit", deepest, maxNesting)
	}
	if recursions > maxRecursion {
		return fmt.Errorf("it has %d operators that can be nested, and %d is the limit", recursions, maxRecursion)
	}
	return nil
}
