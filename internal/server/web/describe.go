package web

import "net/http"

// replies are the codes that an address answers, and what each of them means.
type replies map[int]string

// What several addresses answer.
const (
	stillRendered     = "The past is still rendered. Ask again."
	notAMoment        = "A moment cannot be read."
	toTimeOfCommit    = "To the same at the time of the commit."
	wholeID           = "To the same with the whole id."
	noEnvironment     = "The environment does not exist."
	nothingOfThatName = "The environment does not exist, or it has nothing of that name."
	tooMany           = "Too many requests of this kind began within a minute."
	noAnswerNow       = "There is no answer now. Ask again later."
)

// workCodes are the codes of answers that take work.
var workCodes = replies{http.StatusTooManyRequests: tooMany, http.StatusServiceUnavailable: noAnswerNow}
