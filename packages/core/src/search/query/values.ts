import { clipText } from '../../text.ts'
import { wordsOf } from '../lexical/text-words.ts'

/** A value inside a request (a quotation, a path, an address): what a tool works on, not what the tool does. */
export interface Value {
  /** Without quotation marks. */
  readonly text: string
  /** What tools call such a thing; empty if its form does not tell. */
  readonly implies: readonly string[]
}

// The order matters: an address is not a path. Quotation marks, but not apostrophes. `time` only where it is one of day,
// not a ratio; `#fff` is a colour.
const FORMS = {
  quoted: /(?<![\p{L}\p{N}])'[^']{1,80}'(?!\p{L})|["“”„][^"“”„]{1,80}["“”„]|`[^`]{1,80}`|<[^<>]{1,60}>/u,
  url: /\bhttps?:\S+/u,
  email: /(?<![\w.+-])(?!git@)[\w.+-]+@(?:[\w-]+\.)+\p{L}{2,}/u,
  version: /(?<![\w.+-])[\w.+-]+@[\w.-]+/u,
  calculate: /\b\d[\d.,]*\s?(?:[+*×÷^]|% of)\s?\d[\d.,]*\b/u,
  path: /(?:(?<!\S)(?:~|\.{1,2}|[A-Z]:)?[/\\])?(?<![\p{L}\p{M}\p{N}_-])[\p{L}\p{M}\p{N}_-]+(?:[./\\][\p{L}\p{M}\p{N}_-]+)+|(?<!\S)(?:~|\.{1,2})?\/[\w.-]+/u,
  channel: /(?<!\S)#(?!(?:[\da-fA-F]{3,4}|[\da-fA-F]{6}|[\da-fA-F]{8})(?![\w-]))\p{L}[\p{L}\p{N}_-]*/u,
  time: /(?<=\b(?:at|by|until|till|from|to|before|after|around)\s)\d{1,2}:\d\d\b/u,
  number: /#?\b\d[\d.,:-]*\b/u,
}

/** What the forms imply; those of paths differ. */
const IMPLIED: Readonly<Record<string, readonly string[]>> = {
  url: ['url'],
  email: ['email'],
  calculate: ['calculate'],
  channel: ['channel', 'message'],
  time: ['time'],
}

const VALUE = new RegExp(
  Object.entries(FORMS)
    .map(([name, form]) => `(?<${name}>${form.source})`)
    .join('|'),
  'gu',
)

const SITE = /^(?:www\.|(?:[\w-]+\.)+(?:ai|app|co|com|dev|edu|gov|io|net|org)(?:\/|$))/i
// Not `.js` alone: "Node.js".
const FILE =
  /^(?:~|\.{1,2}|[A-Z]:)?[/\\]|[/\\].*\.js$|\.(?:csv|docx?|gif|html?|ini|jpe?g|json|log|md|mp[34]|pdf|png|pptx?|py|sql|svg|toml|ts|txt|wav|xlsx?|xml|ya?ml|zip)$/i

// `acme/web`, but not `USD/EUR`, `km/h` and `12/24`.
const OWNER_AND_NAME = /^(?=.*\p{Ll})\p{L}[\p{L}\p{N}_-]+\/\p{L}[\p{L}\p{N}_-]+$/u
const SPEAKS_OF_CODE =
  /\b(?:branch(?:es)?|bugs?|clone|code|commits?|forks?|git(?:hub|lab)?|issues?|merge|prs?|pull|releases?|repos?|repositor(?:y|ies)|stars?|tickets?)\b/i

/** Enough to recognise a value by. */
const MAX_CHARACTERS = 60

/** The values of a text. `isToolWord` tells whether any tool contains a word: "read/write" is not a repository. */
export function valuesOf(text: string, isToolWord: (word: string) => boolean): readonly Value[] {
  return Array.from(text.matchAll(VALUE), ({ 0: match, groups = {} }) => {
    if (groups.quoted !== undefined) return readQuoted(match.slice(1, -1), isToolWord)
    if (groups.path !== undefined) return { text: match, implies: pathImplies(match, text, isToolWord) }
    const form = Object.keys(IMPLIED).find((name) => groups[name] !== undefined)
    return { text: match, implies: IMPLIED[form ?? ''] ?? [] }
  })
}

/** A quotation, which may be a single value: "notes.md". */
function readQuoted(quoted: string, isToolWord: (word: string) => boolean): Value {
  const [only, ...others] = valuesOf(quoted, isToolWord)
  const isValue = others.length === 0 && only?.text === quoted
  return { text: quoted, implies: isValue ? only.implies : [] }
}

function pathImplies(path: string, text: string, isToolWord: (word: string) => boolean): readonly string[] {
  if (SITE.test(path)) return ['url']
  if (FILE.test(path)) return ['file']
  const isRepository =
    OWNER_AND_NAME.test(path) && SPEAKS_OF_CODE.test(text) && !wordsOf(path).every(isToolWord)
  return isRepository ? ['repository'] : []
}

/** A value, short enough for a reason. */
export function shownValue({ text }: Value): string {
  return clipText(text, MAX_CHARACTERS)
}

/** The words that a text contains only inside values, in lower case: "the disk <disk name>" is about a disk. */
export function valueWords(text: string, values: readonly Value[]): ReadonlySet<string> {
  const inside = new Set(values.flatMap((value) => wordsOf(value.text)))
  if (inside.size === 0) return inside
  for (const word of wordsOf(text.replace(VALUE, ' '))) inside.delete(word)
  return inside
}
