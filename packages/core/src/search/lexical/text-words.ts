/** Receives a word; returns false to stop. */
type Visit = (word: string) => boolean

/**
 * Calls `visit` for each word of a text, in lower case. A word is a run of letters and digits. `searchIssues` gives
 * `searchissues`, `search` and `issues`, so that every spelling matches; scripts without spaces give pairs of
 * adjacent characters. Returns false if `visit` stopped it.
 */
export function eachWord(text: string, visit: Visit): boolean {
  let start = -1
  let previous = OTHER
  let hasHumps = false
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : SPACE
    // Rare in tool texts: the rest, from the start of this word, takes the slower path.
    if (code >= ASCII_END) return eachUnicodeWord(text.slice(start < 0 ? at : start), visit)
    const kind = ASCII_KINDS[code] ?? OTHER
    if (kind === OTHER) {
      if (start >= 0 && !visitRun(text.slice(start, at), hasHumps, visit)) return false
      start = -1
      hasHumps = false
    } else if (start < 0) start = at
    else if (kind === UPPER) hasHumps ||= previous === LOWER
    else hasHumps ||= previous === UPPER && at - start > 1
    previous = kind
  }
  return true
}

/** The words of a text as a list. */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  eachWord(text, (word) => words.push(word) > 0)
  return words
}

const OTHER = 0
const LOWER = 1
const UPPER = 2
const SPACE = 32
const ASCII_END = 128
const ASCII_KINDS = new Uint8Array(ASCII_END)
ASCII_KINDS.fill(LOWER, codeOf('0'), codeOf('9') + 1)
ASCII_KINDS.fill(UPPER, codeOf('A'), codeOf('Z') + 1)
ASCII_KINDS.fill(LOWER, codeOf('a'), codeOf('z') + 1)

function codeOf(character: string): number {
  return character.charCodeAt(0)
}

function visitRun(run: string, hasHumps: boolean, visit: Visit): boolean {
  if (!visit(folded(run))) return false
  if (!hasHumps || ACRONYMS.test(run)) return true
  const humps = run.match(HUMP) ?? []
  return humps.length < 2 || humps.every((hump) => visit(folded(hump)))
}

// `URLs`, `IDs`: one plural word.
const ACRONYMS = /^\p{Lu}+s$/u
// `HTTPServer2Go` → `HTTP`, `Server2`, `Go`
const HUMP = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[^\p{Lu}]+/gu
const RUN = /[\p{L}\p{N}\p{M}]+/gu
const HAS_HUMP = /[\p{Ll}\p{N}]\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u
const UNSPACED =
  /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30FC\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+)/u

function eachUnicodeWord(text: string, visit: Visit): boolean {
  for (const [run] of text.normalize('NFKC').matchAll(RUN)) {
    const pieces = run.split(UNSPACED)
    const visited =
      pieces.length === 1
        ? visitRun(run, HAS_HUMP.test(run), visit)
        : pieces.every((piece, at) =>
            at % 2 === 1 ? eachPair(piece, visit) : piece === '' || visit(folded(piece)),
          )
    if (!visited) return false
  }
  return true
}

/** Pairs of adjacent characters replace words in scripts without spaces. */
function eachPair(piece: string, visit: Visit): boolean {
  const characters = [...piece]
  if (characters.length === 1) return visit(piece)
  return characters.every((character, at) => at === 0 || visit(`${characters[at - 1]}${character}`))
}

/** The characters of such a pair, which may be words themselves; none for any other word. */
export function charactersOf(word: string): readonly string[] {
  if (word.charCodeAt(0) < ASCII_END) return []
  const characters = [...word]
  return characters.length === 2 && characters.every((character) => UNSPACED.test(character))
    ? characters
    : []
}

/** Lower case without accents, so that `Café` and `cafe` are the same word. */
export function folded(word: string): string {
  const lower = word.toLowerCase()
  if (/^[a-z0-9]*$/.test(lower)) return lower
  return lower
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .normalize('NFC')
}

/**
 * Words that say nothing about what a tool does: grammar and polite phrases. They are removed from long texts and
 * queries, but not from names and hints, where someone chose them.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    'a an and are as at be been being but by for from has have had having he her here hers him his how i if in into is',
    'it its itself me my myself no nor not of off on or our ours out over own she so some such than that the their',
    'them then there these they this those through to too under until up very was we were what when where which while',
    'who whom why will with would you your yours am do does did doing can could should just let please',
    'about above after again all also any because before below between both down during each few further more most',
    'now once only other same',
    's t d ll m re ve don didn doesn isn aren wasn couldn won wouldn shouldn im id ive',
    'want need like know tell help able thank thanks hi hello hey hope looking',
  ]
    .join(' ')
    .split(' '),
)

/**
 * The stem of an English word, by Porter's algorithm: `connected`, `connecting` and `connections` share one. Words in
 * other scripts, with digits, or of fewer than three letters are their own stem. Expects lower case.
 */
export function stem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word
  let stemmed = withoutPlural(word)
  stemmed = withoutPastOrGerund(stemmed)
  if (stemmed.endsWith('y') && hasVowel(stemmed.slice(0, -1))) stemmed = `${stemmed.slice(0, -1)}i`
  stemmed = replaceSuffix(stemmed, DOUBLE_SUFFIXES)
  stemmed = replaceSuffix(stemmed, LONG_SUFFIXES)
  stemmed = withoutLastSuffix(stemmed)
  return tidied(stemmed)
}

function withoutPlural(word: string): string {
  if (word.endsWith('sses') || word.endsWith('ies')) return word.slice(0, -2)
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}

function withoutPastOrGerund(word: string): string {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word
  const ending = ['ed', 'ing'].find((suffix) => word.endsWith(suffix))
  if (ending === undefined) return word
  const rest = word.slice(0, -ending.length)
  if (!hasVowel(rest)) return word
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`
  if (/([^aeioulsz])\1$/.test(rest)) return rest.slice(0, -1)
  return measure(rest) === 1 && endsShort(rest) ? `${rest}e` : rest
}

// `relational` → `relate`: endings of two suffixes lose the outer one.
const DOUBLE_SUFFIXES: readonly (readonly [string, string])[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['bli', 'ble'],
  ['alli', 'al'],
  ['entli', 'ent'],
  ['eli', 'e'],
  ['ousli', 'ous'],
  ['ization', 'ize'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['alism', 'al'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['biliti', 'ble'],
  ['logi', 'log'],
]

const LONG_SUFFIXES: readonly (readonly [string, string])[] = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ful', ''],
  ['ness', ''],
]

function replaceSuffix(word: string, suffixes: readonly (readonly [string, string])[]): string {
  for (const [suffix, replacement] of suffixes) {
    if (!word.endsWith(suffix)) continue
    const rest = word.slice(0, -suffix.length)
    return measure(rest) > 0 ? rest + replacement : word
  }
  return word
}

// Longer ones first: `ement` before `ment` before `ent`.
const LAST_SUFFIXES = [
  ...[
    'ement',
    'ance',
    'ence',
    'able',
    'ible',
    'ment',
    'ant',
    'ent',
    'sion',
    'tion',
    'ism',
    'ate',
    'iti',
    'ous',
  ],
  ...['ive', 'ize', 'al', 'er', 'ic', 'ou'],
]

function withoutLastSuffix(word: string): string {
  const suffix = LAST_SUFFIXES.find((candidate) => word.endsWith(candidate))
  if (suffix === undefined) return word
  // Of `-sion` and `-tion` only `ion` is removed: `adoption` → `adopt`.
  const rest = word.slice(0, suffix.endsWith('ion') ? -3 : -suffix.length)
  return measure(rest) > 1 ? rest : word
}

function tidied(word: string): string {
  let tidy = word
  if (tidy.endsWith('e')) {
    const rest = tidy.slice(0, -1)
    const size = measure(rest)
    if (size > 1 || (size === 1 && !endsShort(rest))) tidy = rest
  }
  return tidy.endsWith('ll') && measure(tidy) > 1 ? tidy.slice(0, -1) : tidy
}

/** Counts how often a consonant follows a vowel: a rough number of syllables. */
function measure(word: string): number {
  let count = 0
  let afterVowel = false
  for (let at = 0; at < word.length; at++) {
    const vowel = isVowel(word, at)
    if (afterVowel && !vowel) count++
    afterVowel = vowel
  }
  return count
}

function hasVowel(word: string): boolean {
  for (let at = 0; at < word.length; at++) if (isVowel(word, at)) return true
  return false
}

/** `y` is a vowel after a consonant. */
function isVowel(word: string, at: number): boolean {
  const letter = word[at] ?? ''
  if (letter !== 'y') return 'aeiou'.includes(letter)
  return at > 0 && !isVowel(word, at - 1)
}

/** Ends in consonant, vowel, consonant, as in `hop`: such a word keeps its `e`. */
function endsShort(word: string): boolean {
  const last = word.length - 1
  if (last < 2 || isVowel(word, last) || !isVowel(word, last - 1) || isVowel(word, last - 2)) return false
  return !'wxy'.includes(word[last] ?? '')
}
