import { isRecord } from '../json.ts'
import { maskSecrets } from './mask.ts'

const MASK = '***'

const SECRET_NAME =
  /token|jwt|bearer|passw(?:or)?d|passphrase|secret|(?:api|access|private|signing|encryption|auth|account)[-_]?key|authorization|credential|cookie|^(?:auth|pwd|pin)$/i

/**
 * Patterns of secrets, wherever they occur. The captured group is kept; the replacement extends to the next space or
 * quote, since the remainder may be most of the secret.
 */
const SECRET_SHAPES: readonly RegExp[] = [
  /\b((?:bearer|basic|token)\s+)(?=\S{6})[^\s"'`<>]+/gi,
  /()\b(?:sk|pk|rk)[-_](?=[\w-]{8})[^\s"'`<>]+/g,
  /()\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|npm_)(?=[\w-]{8})[^\s"'`<>]+/g,
  /()\bAKIA(?=[0-9A-Z]{12})[^\s"'`<>]+/g,
  /()\beyJ[\w-]+\.[^\s"'`<>]+/g,
  /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#"'`<>]*@/gi,
]
/** A header written as a single string. */
const HEADER = /^\s*([\w-]{1,60})\s*:\s*\S/

/**
 * Makes arguments safe to show. Replaces with `***` the value of every property, header and name-value pair whose
 * name suggests a secret, and every part that looks like one.
 */
export function maskArguments(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value)
  if (Array.isArray(value)) {
    const [name, ...rest] = value
    const isPair = value.length === 2 && typeof name === 'string' && typeof rest[0] === 'string'
    return isPair && SECRET_NAME.test(name) && !HEADER.test(name) ? [name, MASK] : value.map(maskArguments)
  }
  if (!isRecord(value)) return value
  const named = value.name ?? value.key ?? value.header
  const isNamedSecret = typeof named === 'string' && SECRET_NAME.test(named)
  const entries = Object.entries(value).map(([key, nested]) => {
    const isSecret = namesSecret(key, nested) || (isNamedSecret && key === 'value')
    return [key, isSecret ? MASK : maskArguments(nested)]
  })
  return Object.fromEntries(entries)
}

function maskText(text: string): string {
  const header = HEADER.exec(text)?.[1]
  if (header !== undefined && SECRET_NAME.test(header)) return `${header}: ${MASK}`
  const masked = SECRET_SHAPES.reduce((rest, shape) => rest.replace(shape, `$1${MASK}`), text)
  return maskSecrets(masked, () => MASK)
}

// A token count is not a secret.
function namesSecret(key: string, value: unknown): boolean {
  if (typeof value === 'boolean' || value === null) return false
  if (typeof value === 'number' && /tokens/i.test(key)) return false
  return SECRET_NAME.test(key)
}
