import { CapabilityError } from '@toolcrib/core'
import { type BoundedPattern, compilePattern, WorkBudget } from '@toolcrib/core/internal'

const MAX_LENGTH = 500
/** Maximum length of the regular expression compiled from a glob. */
const MAX_SOURCE_LENGTH = 10_000
/** Work budget for one walk, in pattern steps. A hundred thousand ordinary paths use a third of it. */
const WORK_OF_ONE_WALK = 30_000_000

/**
 * Returns a test for relative paths: `*` and `?` match within a name, `**` across directories, plus `[a-z]`, `[!a-z]`
 * and `{a,b}`. A glob without a slash matches file names at any depth. All tests share one work budget; a test that
 * exceeds it throws `input_invalid`.
 */
export function globTest(glob: string): (path: string) => boolean {
  if (glob.length > MAX_LENGTH) throw invalid(glob.slice(0, 40), `it is longer than ${MAX_LENGTH} characters`)
  const isAboutName = !glob.includes('/')
  const pattern = compile(glob)
  const budget = new WorkBudget(WORK_OF_ONE_WALK)
  return (path) => {
    try {
      return pattern.test(isAboutName ? path.slice(path.lastIndexOf('/') + 1) : path, budget)
    } catch {
      throw new CapabilityError(
        'input_invalid',
        `"${glob}" is too expensive to match against these paths; use fewer wildcards`,
      )
    }
  }
}

function compile(glob: string): BoundedPattern {
  const source = translate(glob.replace(/^\.?\/+/, ''))
  try {
    return compilePattern(`^(?:${source})$`, { dotAll: true, maxLength: MAX_SOURCE_LENGTH })
  } catch {
    throw invalid(glob, 'a bracket or brace is not closed, or a range is reversed')
  }
}

function translate(glob: string): string {
  let source = ''
  let depth = 0
  for (let rest = glob; rest !== ''; ) {
    const [piece = '', mark = ''] = TOKEN.exec(rest) ?? []
    rest = rest.slice(piece.length)
    if (piece === '**/') source += '(?:[^/]*/)*'
    else if (piece === '**') source += '.*'
    else if (piece === '*') source += '[^/]*'
    else if (piece === '?') source += '[^/]'
    else if (mark !== '') source += characterClass(mark)
    else if (piece === '{') {
      depth++
      source += '(?:'
    } else if (piece === '}' && depth > 0) {
      depth--
      source += ')'
    } else if (piece === ',' && depth > 0) source += '|'
    else source += literally(piece.length > 1 ? piece.slice(1) : piece)
  }
  return source + (depth > 0 ? '(' : '')
}

/** One token of a glob: a wildcard, a bracket class, an escaped character, or any other single character. */
const TOKEN = /^(?:\*\*\/|\*\*|\[(!?\]?[^\]]*)\]|\\.|.)/su

function literally(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')
}

function characterClass(inner: string): string {
  const isNot = inner.startsWith('!')
  const letters = (isNot ? inner.slice(1) : inner).replace(/[\\[\]^&]/g, '\\$&')
  return `[${isNot ? '^/' : ''}${letters}]`
}

function invalid(glob: string, reason: string): CapabilityError {
  return new CapabilityError(
    'input_invalid',
    `"${glob}" is not a valid glob: ${reason}; try one like **/*.ts`,
  )
}
