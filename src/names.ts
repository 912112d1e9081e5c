import { ToolcribError } from './errors.ts'
import { hashText } from './json.ts'
import type { Listing, ToolSource } from './tool.ts'

/** Maximum length of a tool, plugin or server name. Providers allow 64; dialects shorten names for them. */
const MAX_NAME_LENGTH = 256

/**
 * Control, zero-width, bidirectional and tag characters. They hide text from people, so the model never sees them.
 */
const HIDDEN =
  /[\p{Cc}\p{Cs}\u00AD\u061C\u115F\u1160\u17B4\u17B5\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFB\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]|\u034F|[\u180B-\u180F]|[\uFE00-\uFE0F]/gu

/**
 * Removes control, zero-width, bidirectional and tag characters, which hide words from people but not from a
 * model. Line breaks and tabs stay.
 *
 * @example
 * ```ts
 * import { withoutHidden } from 'toolcrib'
 *
 * console.log(withoutHidden('Reads\u200b a file.')) // Reads a file.
 * ```
 */
export function withoutHidden(text: string): string {
  if (isPlainText(text)) return text
  return text.replace(HIDDEN, (hidden) => (hidden === '\n' || hidden === '\t' ? hidden : ''))
}

/** True for printable ASCII with line breaks and tabs: most texts, and none that hides anything. */
export function isPlainText(text: string): boolean {
  return PLAIN.test(text)
}

const PLAIN = /^[\x20-\x7e\n\t]*$/

/** Throws `name-invalid`, with the reason, for a name that cannot be registered. */
export function checkName(name: unknown, what: string): asserts name is string {
  const reason = nameFault(name)
  if (reason === undefined) return
  throw new ToolcribError('name-invalid', `${what} ${JSON.stringify(name) ?? typeof name} ${reason}`)
}

function nameFault(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'must be a string'
  if (name === '') return 'must not be empty'
  if (name.length > MAX_NAME_LENGTH)
    return `is ${name.length} characters long; the maximum is ${MAX_NAME_LENGTH}`
  if (name.search(HIDDEN) >= 0) return 'contains control or invisible characters; remove them'
  if (name.trim() !== name) return 'starts or ends with a space; trim it'
  if (/[,*"]/.test(name)) return 'contains , * or ", which queries and policies reserve; rename it'
  return undefined
}

/**
 * Splits a name into lower-case parts: `mcp__github__searchIssues` → `github`, `search`, `issues`. The prefix `mcp`
 * is dropped.
 */
export function splitName(name: string): string[] {
  const parts = name
    .replace(/^mcp[\s_.\-/:]+/i, '')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[\s_.\-/:]+/)
  return parts.filter((part) => part !== '')
}

/**
 * A name reduced to a form that ignores case, look-alike letters and the position of `__`. Two names that share a
 * skeleton collide. Each name has two skeletons, since a capital and its small form may resemble different letters:
 * `Η` looks like H, `η` like n.
 */
export function nameSkeletons(name: string): readonly string[] {
  const plain = name.normalize('NFKC')
  const bySmall = foldLookAlikes(plain.toLowerCase())
  if (IS_ASCII.test(plain)) return [bySmall]
  const byCapital = foldLookAlikes(plain)
  return bySmall === byCapital ? [bySmall] : [bySmall, byCapital]
}

function foldLookAlikes(name: string): string {
  let folded = name
  if (!IS_ASCII.test(name)) {
    folded = ''
    for (const letter of name) folded += LOOK_ALIKES.get(letter) ?? letter
  }
  // Joined, since `replace` leaves a chain of slices, and skeletons are kept.
  return folded.toLowerCase().split(/_+/).join('_')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII.
const IS_ASCII = /^[\x00-\x7f]*$/

// Letters of other scripts that look like Latin ones: each Latin letter is followed by its look-alikes.
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [
    'aаαɑᴀАΑᎪꓮ',
    'bьƅᏼВΒᏴꓐ',
    'cсϲᴄⲥСϹᏟꓚⅭ',
    'dԁꓒժᎠꓓⅮ',
    'eеєҽε℮ЕΕᎬꓰ',
    'fſϝքꜰϜꓝ',
    'gɡցǥԌᏀꓖ',
    'hһнհʜНΗᎻꓧ',
    'iіιıӏɩІΙӀꓲⅠ',
    'jјյϳЈᎫꓙ',
    'kкκᴋⲕКΚᏦꓗ',
    'lןⅼⲓʟᏞꓡⅬ',
    'mмᴍⅿМΜᎷꓟⅯ',
    'nոпηᴎɴΝꓠ',
    'oоοօσᴏⲟОΟՕꓳ',
    'pрρⲣᴘРΡᏢꓑ',
    'qԛզգԚ',
    'rгᴦⲅꭇʀᎡᏒꓣ',
    'sѕꜱʂЅՏᏚꓢ',
    'tтτᴛⲧТΤᎢꓔ',
    'uυսцᴜՍꓴ',
    'vѵνᴠⅴѴᏙꓦⅤ',
    'wѡԝωᴡաԜᎳꓪ',
    'xхχⅹⲭХΧꓫⅩ',
    'yуүγყʏУҮΥꓬ',
    'zᴢʐΖᏃꓜ',
  ].flatMap(([latin = '', ...doubles]) => doubles.map((double) => [double, latin] as const)),
)

/** The tool names that every provider accepts. */
const WIRE_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/
const MAX_LENGTH = 64
const HASH_DIGITS = 10
/**
 * The suffix of a shortened name. A registered name that already ends like this is changed too, so the two never
 * collide.
 */
const CHANGED = /_[0-9a-f]{10}$/

/**
 * The name a provider sees: `[A-Za-z_][A-Za-z0-9_-]{0,63}`. A valid name is returned unchanged; any other keeps its
 * valid characters and gains a short hash of the whole name. The result depends only on the name, so it survives
 * restarts.
 */
export function toWireName(name: string): string {
  return WIRE_NAME.test(name) && !CHANGED.test(name) ? name : changedName(name, hashText(name))
}

export function changedName(name: string, hash: string): string {
  const kept = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .slice(0, MAX_LENGTH - HASH_DIGITS - 1)
  const start = /^[A-Za-z_]/.test(kept) ? kept : `_${kept}`.slice(0, MAX_LENGTH - HASH_DIGITS - 1)
  return `${start}_${hash.slice(0, HASH_DIGITS)}`
}

/** Whether the user chose to trust the source of a listing: every source but a server without `trust`. */
export function isApproved({ source, trust }: Pick<Listing, 'source' | 'trust'>): boolean {
  return source.kind !== 'mcp' || trust > 0
}

/** A short key for a source, equal for equal sources: `builtin`, `plugin:notes`, `mcp:github`. */
export function sourceKey(source: ToolSource): string {
  if (source.kind === 'plugin') return `plugin:${source.plugin}`
  if (source.kind === 'mcp') return `mcp:${source.server}`
  return 'builtin'
}

/** The source of a key returned by `sourceKey`. */
export function sourceOfKey(key: string): ToolSource {
  const [, kind, name = ''] = /^(plugin|mcp):(.*)$/s.exec(key) ?? []
  if (kind === 'plugin') return { kind, plugin: name }
  return kind === 'mcp' ? { kind, server: name } : { kind: 'builtin' }
}

/** What a source is called in lists. */
export function sourceLabel(source: ToolSource): string {
  if (source.kind === 'mcp') return source.server
  if (source.kind === 'plugin') return `plugin ${source.plugin}`
  return 'built in'
}
