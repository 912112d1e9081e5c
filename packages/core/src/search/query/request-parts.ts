import { STOP_WORDS } from '../lexical/text-words.ts'

/** Maximum characters that are read of a request: enough for any. */
export const MAX_CHARACTERS = 2_000

/** Minimum words, besides stop words, for a part to have a meaning of its own. */
const MIN_WORDS = 3

/** The same after a verb: "upload it to the drive" is a request, "large files" may be one of a list. */
const MIN_WORDS_AFTER_VERB = 1

/** Further parts are read only as part of the whole. */
const MAX_PARTS = 6

// Boundaries between requests: sentences, clauses and conjunctions.
const BORDER =
  /(?:[.?!;\n]+(?:\s+|$)|,\s+|\s+\+\s+|\s+(?=(?:and|or|then|also|as well as|plus)\s))(?:(?:and|or|then|also|as well as|plus)\s+)*/i

/**
 * Splits a request for several things into parts ("find the cheapest flight to Rome, then book it and mail me the
 * ticket"). Returns an empty list if it asks for one thing.
 */
export function requestParts(text: string): string[] {
  const parts = text
    .slice(0, MAX_CHARACTERS)
    .replace(/[^\S\n]+/g, ' ')
    .split(BORDER)
    .map((part) => part.trim())
  const telling = parts.filter(isTelling)
  return telling.length < 2 ? [] : telling.slice(0, MAX_PARTS)
}

function isTelling(part: string): boolean {
  const [first = '', ...others] = part.split(/\s+/)
  const after = tellingWords(others)
  if (after + tellingWords([first]) >= MIN_WORDS) return true
  return after >= MIN_WORDS_AFTER_VERB && VERBS.has(first.toLowerCase())
}

function tellingWords(words: readonly string[]): number {
  let count = 0
  for (const word of words) if (!STOP_WORDS.has(word.toLowerCase())) count++
  return count
}

/** What requests and the names of tools begin with. */
export const VERBS: ReadonlySet<string> = new Set(
  `add analyze analyse apply approve archive ask assign attach block book browse build buy calculate call cancel
  capture change chart check clean clear click clone close collect combine compare compile compress compute
  configure connect convert copy count crawl create crop decode decrypt delete deploy describe detect disable
  display download draft draw edit email enable encode encrypt estimate evaluate execute explain export extract
  fetch fill filter find fix follow forecast format generate get give identify import insert inspect install
  invite join launch list load locate log look mail make map mark measure merge message modify monitor move
  navigate notify open order organize pause pay pick play plot post predict prepare print process publish pull
  purchase push query rank rate read recommend record refund register reject remind remove rename render reopen
  replace reply report request reschedule reserve reset resize resolve restart restore retrieve review rotate run
  save scan schedule scrape search select send set share show sign simulate solve sort split start stop store
  submit subscribe suggest summarize summarise sync tell test text track transcribe transfer translate trim turn
  uninstall unlock unsubscribe update upgrade upload use validate verify view visualize watch write zip`.split(
    /\s+/,
  ),
)
