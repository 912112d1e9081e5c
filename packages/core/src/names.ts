import { ToolcribError } from './errors.ts'
import { hashText } from './json.ts'
import { onFirstUse } from './on-first-use.ts'
import type { Listing, ToolSource } from './tool.ts'

/** Maximum length of a tool, plugin or server name. Providers allow 64; dialects shorten names for them. */
const MAX_NAME_LENGTH = 256

/**
 * Control, zero-width, bidirectional and tag characters, except line breaks and tabs. They hide text from people, so
 * the model never sees them.
 */
const HIDDEN =
  /[^\P{Cc}\n\t]|[\p{Cs}\u00AD\u061C\u115F\u1160\u17B4\u17B5\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFB\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]|\u034F|[\u180B-\u180F]|[\uFE00-\uFE0F]/gu

/**
 * Removes control, zero-width, bidirectional and tag characters, which hide words from people but not from a
 * model. Line breaks and tabs stay.
 */
export function withoutHidden(text: string): string {
  return hidesNothing(text) ? text : text.replace(HIDDEN, '')
}

/** Writes out hidden characters, so that the text can be shown safely: `\u{200b}`. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`)
}

/** Removes hidden characters except those that writing requires: `\r\n`, and the joiners of emoji and of scripts. */
export function withoutHiding(text: string): string {
  if (hidesNothing(text) || text.search(HIDDEN) < 0) return text
  let kept = ''
  let end = 0
  for (const { 0: needed, index } of text.matchAll(neededCharacters())) {
    kept += withoutHidden(text.slice(end, index)) + needed
    end = index + needed.length
  }
  return kept + withoutHidden(text.slice(end))
}

const LINE_END = String.raw`\r(?=\n)`
const EMOJI_JOINT = String.raw`(?<=[\p{S}\p{N}#*])\uFE0F|(?<=\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?)\u200D(?=\p{Extended_Pictographic})`
/** A letter or mark of a script that uses joiners and non-joiners, such as Persian and Hindi. */
const JOINING_LETTER = String.raw`(?!\p{Script=Latin}|\p{Script=Greek}|\p{Script=Cyrillic}|\p{Script=Inherited})[\p{L}\p{M}]`
const JOINER = String.raw`(?<=${JOINING_LETTER})[\u200C\u200D](?=${JOINING_LETTER})`
const neededCharacters = onFirstUse(() => new RegExp(`${LINE_END}|${EMOJI_JOINT}|${JOINER}`, 'gu'))

/**
 * True for most texts that hide nothing, in most scripts; others need a closer look. A few ranges are compared much
 * faster than the many of `HIDDEN`.
 */
export function hidesNothing(text: string): boolean {
  return VISIBLE.test(text)
}

const VISIBLE =
  /^[\x20-\x7E\n\t\u00AE-\u033F\u0370-\u061B\u2010-\u2027\u2070-\u3163\u3165-\uD7FF\uFF00-\uFF9F]*$/

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
  if (/[\n\t]/.test(name) || name.search(HIDDEN) >= 0)
    return 'contains control or invisible characters; remove them'
  if (name.trim() !== name) return 'starts or ends with a space; trim it'
  if (/[,*"]/.test(name)) return 'contains , * or ", which queries and policies reserve; rename it'
  return undefined
}

/** The names of the search meta-tools, of which a session shows one. */
export const SEARCH_TOOL_NAMES = ['tool_search', 'tool_search_regex', 'ToolSearch'] as const

/** The names of meta-tools, which no other tool may have. */
export const META_TOOL_NAMES = [
  ...SEARCH_TOOL_NAMES,
  'call_tool',
  'call_read_tool',
  'read_result',
  'load_skill',
  'read_skill_file',
  'run_script',
  'wait_for_servers',
] as const

/** Whether a name is that of a search meta-tool. */
export function isSearchTool(name: string): boolean {
  return (SEARCH_TOOL_NAMES as readonly string[]).includes(name)
}

/** Whether a name is that of a dispatch tool, which calls the tool that its arguments name. */
export function isDispatchTool(name: string): boolean {
  return name === 'call_tool' || name === 'call_read_tool'
}

/** Whether a name is reserved for a meta-tool. */
export function isMetaTool(name: string): boolean {
  return (META_TOOL_NAMES as readonly string[]).includes(name)
}

/**
 * Splits a name into lower-case parts: `mcp__github__searchIssues` → `github`, `search`, `issues`. The prefix `mcp`
 * is dropped.
 */
export function splitName(name: string): string[] {
  const parts = name
    .replace(/^mcp[\s_.\-/:]+|^openapi__/i, '')
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
    'aаαɑᴀАΑᎪꓮẚⱥⲁ',
    'bьƅᏼВΒᏴꓐƀƃɓʙⲃ',
    'cсϲᴄⲥСϹᏟꓚⅭƈȼɕ',
    'dԁꓒժđĐðᎠꓓⅮƌȡɖɗᴅᗞ',
    'eеєҽε℮ᴇɇЕΕᎬꓰɛꬲⲉᥱ',
    'fſϝքꜰϜꓝƒ',
    'gɡցǥԌᏀꓖɠɢ',
    'hһнհʜħНΗᎻꓧɦⱨⲏ',
    'iіιıӏɩІΙӀꓲⅠɨɪ',
    'jјյϳЈᎫꓙȷɉɟʄʝᴊ',
    'kкκᴋⲕКΚᏦꓗƙⱪ',
    'lןⅼⲓʟłŁᏞꓡⅬƚȴɫɬɭⱡǀا',
    'mмᴍⅿМΜᎷꓟⅯɱⲙ',
    'nոпηᴎɴΝꓠƞȵɲɳⲛ',
    'oоοօσᴏⲟøØөОΟՕꓳ',
    'pрρⲣᴘРΡᏢꓑƥᵽ',
    'qԛզգԚɋʠ',
    'rгᴦⲅꭇʀᎡᏒꓣɍɼɽɾ',
    'sѕꜱʂЅՏᏚꓢȿ',
    'tтτᴛⲧŧТΤᎢꓔƫƭȶʈⱦ',
    'uυսцᴜՍꓴ',
    'vѵνᴠⅴѴᏙꓦⅤʋ',
    'wѡԝωᴡաԜᎳꓪ',
    'xхχⅹⲭХΧꓫⅩ',
    'yуүγყʏУҮΥꓬƴɏⲩ',
    'zᴢʐΖᏃꓜƶȥɀʑⱬⲍ',
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

/** The registered name of a server's tool. */
export function mcpName(ownName: string, server: string): string {
  return `mcp__${server}__${ownName}`
}

/** Whether the user chose to trust the source of a listing: every source but a server without `trust`. */
export function isApproved({ source, trust }: Pick<Listing, 'source' | 'trust'>): boolean {
  return source.kind !== 'mcp' || trust > 0
}

/** The registered name of a tool that is named after its source: `mcp__github__search`, `openapi__stripe__list_charges`. */
export function servedName(ownName: string, source: ToolSource): string {
  return `${source.kind}__${sourceName(source)}__${ownName}`
}

/** The name of the server, plugin or API; '' for built-in tools. */
export function sourceName(source: ToolSource): string {
  if (source.kind === 'mcp') return source.server
  if (source.kind === 'plugin') return source.plugin
  return source.kind === 'openapi' ? source.api : ''
}

/** Whether tools of a source are named after it: servers' and APIs', unlike plugins' and built-in ones. */
export function isServed(source: ToolSource): boolean {
  return source.kind === 'mcp' || source.kind === 'openapi'
}

/** A short key for a source, equal for equal sources: `builtin`, `plugin:notes`, `mcp:github`, `openapi:stripe`. */
export function sourceKey(source: ToolSource): string {
  return source.kind === 'builtin' ? 'builtin' : `${source.kind}:${sourceName(source)}`
}

/** The source of a key returned by `sourceKey`. */
export function sourceOfKey(key: string): ToolSource {
  const [, kind, name = ''] = /^(plugin|mcp|openapi):(.*)$/s.exec(key) ?? []
  if (kind === 'plugin') return { kind, plugin: name }
  if (kind === 'openapi') return { kind, api: name }
  return kind === 'mcp' ? { kind, server: name } : { kind: 'builtin' }
}

/** What a source is called in lists. */
export function sourceLabel(source: ToolSource): string {
  if (source.kind === 'builtin') return 'built in'
  return source.kind === 'plugin' ? `plugin ${source.plugin}` : sourceName(source)
}
