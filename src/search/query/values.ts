import { wordsOf } from '../lexical/text-words.ts'

/** A value inside a request (a quotation, a path, an address): what a tool works on, not what the tool does. */
export interface Value {
  readonly text: string
  /** What tools call such a thing; undefined if its form does not tell. */
  readonly kind: string | undefined
}

// The order matters: an address is not a path. Quotation marks, but not apostrophes.
const FORMS = {
  quoted: /(?<![\p{L}\p{N}])'[^']{1,80}'(?!\p{L})|["“”„][^"“”„]{1,80}["“”„]|`[^`]{1,80}`|<[^<>]{1,60}>/u,
  url: /\bhttps?:\S+/u,
  email: /(?<![\w.+-])[\w.+-]+@[\w.-]+/u,
  calculate: /\b\d[\d.,]*\s?(?:[+*×÷^]|% of)\s?\d[\d.,]*\b/u,
  path: /(?:(?<!\S)(?:~|\.{1,2}|[A-Z]:)?[/\\])?(?<![\w-])[\w-]+(?:[./\\][\w-]+)+|(?<!\S)(?:~|\.{1,2})?\/[\w.-]+/u,
  channel: /(?<!\S)#\p{L}[\w-]*/u,
  time: /\b\d{1,2}:\d\d\b/u,
  number: /#?\b\d[\d.,:-]*\b/u,
}

const VALUE = new RegExp(
  Object.entries(FORMS)
    .map(([name, form]) => `(?<${name}>${form.source})`)
    .join('|'),
  'gu',
)

const SITE = /\.(?:ai|app|co|com|dev|edu|gov|io|net|org)$/i
const FILE =
  /^(?:~|\.{1,2}|[A-Z]:)?[/\\]|\.(?:csv|docx?|gif|html?|ini|jpe?g|js|json|log|md|mp[34]|pdf|png|pptx?|py|sql|svg|toml|ts|txt|wav|xlsx?|xml|ya?ml|zip)$/i
const OWNER_AND_NAME = /^([\w-]+)\/([\w-]+)$/

/** The values of a text. `isToolWord` tells whether any tool contains a word: "read/write" is not a repository. */
export function valuesOf(text: string, isToolWord: (word: string) => boolean): readonly Value[] {
  return Array.from(text.matchAll(VALUE), ({ 0: value, groups = {} }) => {
    const form = Object.keys(FORMS).find((name) => groups[name] !== undefined)
    return { text: value, kind: kindOf(value, form, isToolWord) }
  })
}

function kindOf(
  value: string,
  form: string | undefined,
  isToolWord: (word: string) => boolean,
): string | undefined {
  if (form === 'quoted') {
    const inside = value.slice(1, -1)
    const [only, ...others] = valuesOf(inside, isToolWord)
    return others.length === 0 && only?.text === inside ? only.kind : undefined
  }
  if (form === 'number') return undefined
  if (form !== 'path') return form
  if (FILE.test(value)) return 'file'
  if (SITE.test(value)) return 'url'
  const halves = OWNER_AND_NAME.exec(value)?.slice(1) ?? []
  return halves.some((half) => !wordsOf(half).every(isToolWord)) ? 'repository' : undefined
}

/** The words that a text contains only inside values, in lower case: "the disk <disk name>" is about a disk. */
export function valueWords(text: string, values: readonly Value[]): ReadonlySet<string> {
  const inside = new Set(values.flatMap((value) => wordsOf(value.text)))
  for (const word of wordsOf(text.replace(VALUE, ' '))) inside.delete(word)
  return inside
}
