import type { Trace } from '@toolcrib/core/internal'
import { showHidden, withoutHidden } from '@toolcrib/core/internal'

/** Longer texts are scanned up to here: no tool needs that much. */
export const MAX_CHARACTERS = 60_000

/** Finds invisible characters: the worst kind in a text, with the count. */
export function hiddenCharacters(wholeText: string): Trace[] {
  const text = wholeText.slice(0, MAX_CHARACTERS)
  if (withoutHidden(text) === text) return []
  const isRightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text)
  const counts = new Map<string, number>()
  let first: { family: Family; at: number } | undefined
  let at = 0
  for (const character of text) {
    const family = isInnocent(character, { text, at, isRightToLeft }) ? undefined : familyOf(character)
    if (family) {
      counts.set(family.name, (counts.get(family.name) ?? 0) + 1)
      if (!first || RANK[family.severity] > RANK[first.family.severity]) first = { family, at }
    }
    at += character.length
  }
  if (!first) return []
  const names = [...counts].map(([name, count]) => `${count} ${name}`).join(', ')
  const smuggled = tagText(text)
  const message =
    smuggled === ''
      ? `holds ${names}`
      : `contains ${names}, which spell ${JSON.stringify(smuggled.slice(0, 200))}`
  return [
    {
      kind: 'hidden-characters',
      severity: first.family.severity,
      message,
      excerpt: excerptAt(text, first.at),
    },
  ]
}

interface Family {
  readonly name: string
  readonly severity: 'high' | 'medium' | 'low'
  readonly pattern: RegExp
}

const RANK = { low: 0, medium: 1, high: 2 } as const

const FAMILIES: readonly Family[] = [
  { name: 'tag characters', severity: 'high', pattern: /[\u{E0000}-\u{E0FFF}]/u },
  {
    name: 'characters that change the text direction',
    severity: 'high',
    pattern: /[\u202A-\u202E\u2066-\u2069]/,
  },
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  { name: 'terminal escapes', severity: 'high', pattern: /[\u001B\u009B]/ },
  { name: 'control characters', severity: 'medium', pattern: /\p{Cc}/u },
  {
    name: 'zero-width characters',
    severity: 'medium',
    pattern: /[\u200B-\u200F\u2060-\u2065\uFEFF]|\u034F|[\u180B-\u180F]/,
  },
  { name: 'invisible characters', severity: 'low', pattern: /./su },
]

function familyOf(character: string): Family | undefined {
  if (withoutHidden(character) !== '') return undefined
  return FAMILIES.find(({ pattern }) => pattern.test(character))
}

interface Place {
  readonly text: string
  readonly at: number
  /** Whether any of the text is written from right to left. */
  readonly isRightToLeft: boolean
}

/** Windows line ends, a byte order mark at the very start, and characters that emoji and some scripts require. */
function isInnocent(character: string, { text, at, isRightToLeft }: Place): boolean {
  if (character === '\r') return text[at + 1] === '\n'
  if (character === '\uFEFF') return at === 0
  if (/[\uFE00-\uFE0F]/.test(character)) {
    return /[\p{S}\p{N}#*]$/u.test(text.slice(Math.max(0, at - 2), at))
  }
  if (character === '\u200D' || character === '\u200C') {
    const before = text.slice(Math.max(0, at - 4), at)
    return /(?:\p{Extended_Pictographic}\uFE0F?|\p{Emoji_Modifier}|[\p{L}\p{M}](?<=[^\p{Script=Latin}]))$/u.test(
      before,
    )
  }
  if (character === '\u200E' || character === '\u200F') return isRightToLeft
  // Flags of regions are spelled with tags after a black flag.
  return (
    /[\u{E0020}-\u{E007F}]/u.test(character) &&
    /\u{1F3F4}[\u{E0020}-\u{E007F}]{0,6}$/u.test(text.slice(Math.max(0, at - 14), at))
  )
}

/** Decodes a run of tag characters, each of which encodes an ASCII letter. */
function tagText(text: string): string {
  let spelled = ''
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    if (code >= 0xe0020 && code <= 0xe007e) spelled += String.fromCharCode(code - 0xe0000)
  }
  return spelled
}

const AROUND = 40

/** An excerpt with its hidden characters written as `\u{200b}`. */
export function excerptAt(text: string, at: number, length = 1): string {
  const from = Math.max(0, at - AROUND)
  const to = Math.min(text.length, at + length + AROUND)
  const passage = showHidden(text.slice(from, to).replace(/\s+/g, ' ').trim())
  return `${from > 0 ? '…' : ''}${passage}${to < text.length ? '…' : ''}`
}
