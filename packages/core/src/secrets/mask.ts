import { isSecretName, looksRandom, SECRET_TOKEN } from './secret-signs.ts'

/** How to read a text. */
export interface MaskOptions {
  /** Whoever approves code to run must be able to read it, so only definite values are masked in it. */
  readonly isCode?: boolean
}

/** Replaces every part of a text that looks like a secret. */
export function maskSecrets(
  text: string,
  mask: (secret: string) => string,
  { isCode = false }: MaskOptions = {},
): string {
  const rules = isCode ? CODE_RULES : RULES
  const spans = [...rules.flatMap((rule) => spansOf(text, rule)), ...addressSpans(text)]
  let masked = ''
  let at = 0
  for (const { from, to } of joined(spans)) {
    masked += text.slice(at, from) + mask(text.slice(from, to))
    at = to
  }
  return masked + text.slice(at)
}

interface Span {
  readonly from: number
  readonly to: number
}

/** A pattern with a group `value`, which is a secret if its group `name` or `isMeant` says so. */
interface Rule {
  readonly pattern: RegExp
  readonly isMeant?: (value: string) => boolean
}

const SHARED_RULES: readonly Rule[] = [
  { pattern: SECRET_TOKEN, isMeant: () => true },
  { pattern: /\bbearer\s+(?<value>[\w.~+/=-]{8,})/dgi, isMeant: () => true },
  // JSON, JSON inside JSON, and without quotes.
  { pattern: /"(?<name>[\w.-]+)"\s*:\s*"(?<value>(?:[^"\\]|\\.)*)"/dgs },
  { pattern: /\\"(?<name>[\w.-]+)\\"\s*:\s*\\"(?<value>.*?)\\"/dgs },
  { pattern: /'(?<name>[\w.-]+)'\s*:\s*'(?<value>[^']*)'/dg },
  { pattern: /["'](?<name>[\w.-]+)\\?["']\s*:\s*(?<value>[^\s"'\\,{}[\]]+)/dg },
]

const RULES: readonly Rule[] = [
  ...SHARED_RULES,
  { pattern: /^(?<name>\w+)=(?<value>.*)$/dgs },
  // Values in a connection string end at the next semicolon, other settings at the next space.
  { pattern: /(?<![\w.-])(?<name>[A-Za-z][\w.-]*)\s*=\s*["']?(?<value>[^;&"']{1,200}(?=;)|[^;&\s"']+)/dg },
  { pattern: /^(?<name>[\w-]+):\s*(?<value>[^\s/].*)$/dgs },
]

const CODE_RULES: readonly Rule[] = [
  ...SHARED_RULES,
  { pattern: /(?<!\w)(?<name>[A-Za-z]\w*)=["']?(?<value>[\w+/=~-]+)(?![\w+/=~.([-])/dg },
]

function spansOf(text: string, { pattern, isMeant = () => false }: Rule, offset = 0): Span[] {
  return [...text.matchAll(pattern)].flatMap(({ groups, indices }) => {
    const [from, to] = indices?.groups?.value ?? []
    const { name, value = '' } = groups ?? {}
    if (from === undefined || to === undefined || value === '') return []
    const isSecret = (name !== undefined && isSecretName(name)) || isMeant(value)
    return isSecret ? [{ from: from + offset, to: to + offset }] : []
  })
}

const ADDRESS = /(?<![\w+.-])[a-z][\w+.-]*:\/\/[^\s"'`<>]+/gi

/** Passwords in URLs, and keys in their paths and parameters. */
const ADDRESS_RULES: readonly Rule[] = [
  // A password may contain a slash; a port is not a password, nor is the text before an @ in the parameters.
  { pattern: /^[^/]+\/\/[^/?#@:]*:(?!\d+(?:[/?#]|$))(?<value>[^?#]+)@/dg, isMeant: () => true },
  { pattern: /^[^/]+\/\/[^/?#@:]*:(?!\d+(?:[/?#]|$))(?<value>[^@]*[?#].*)@/dg, isMeant: () => true },
  { pattern: /^[^/]+\/\/(?<value>[^/?#@:]+)@/dg, isMeant: looksRandom },
  { pattern: /[?&#](?<name>[\w.-]+)=(?<value>[^&#]+)/dg, isMeant: looksRandom },
]

const PATH_RULE: Rule = { pattern: /\/(?<value>[^/]+)/dg, isMeant: looksRandom }

function addressSpans(text: string): Span[] {
  return [...text.matchAll(ADDRESS)].flatMap(({ 0: address, index }) => {
    const [, host = '', path = ''] = /^([^/]+\/\/[^/?#]*)([^?#]*)/.exec(address) ?? []
    return [
      ...ADDRESS_RULES.flatMap((rule) => spansOf(address, rule, index)),
      ...spansOf(path, PATH_RULE, index + host.length),
    ]
  })
}

/** Sorts the spans and merges overlapping ones. */
function joined(spans: readonly Span[]): Span[] {
  const whole: Span[] = []
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = whole.at(-1)
    if (!last || span.from >= last.to) whole.push(span)
    else whole[whole.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
  }
  return whole
}
