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
const ASCII_KINDS = Uint8Array.from({ length: ASCII_END }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/[a-z0-9]/.test(character)) return LOWER
  return /[A-Z]/.test(character) ? UPPER : OTHER
})

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
function folded(word: string): string {
  const lower = word.toLowerCase()
  if (/^[a-z0-9]*$/.test(lower)) return lower
  return lower
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .normalize('NFC')
}
