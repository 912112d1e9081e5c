import { RE2JS } from 're2js'
import { CapabilityError } from '../capability.ts'

const MAX_LENGTH = 500

/**
 * Tests relative paths against a glob: `*` and `?` within a name, `**` across directories, `[a-z]`, `[!a-z]` and
 * `{a,b}`. A glob without a slash is about the name, wherever the file lies. Time is linear in the path, whatever
 * the glob.
 */
export function globTest(glob: string): (path: string) => boolean {
  if (glob.length > MAX_LENGTH) throw invalid(glob.slice(0, 40), `it is longer than ${MAX_LENGTH} characters`)
  const isAboutName = !glob.includes('/')
  const pattern = compile(glob)
  return (path) => pattern.test(isAboutName ? path.slice(path.lastIndexOf('/') + 1) : path)
}

function compile(glob: string): RE2JS {
  const source = translate(glob.replace(/^\.?\/+/, ''))
  try {
    return RE2JS.compile(`^(?:${source})$`, RE2JS.DOTALL)
  } catch {
    throw invalid(glob, 'a bracket or brace is not closed')
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
    else source += RE2JS.quote(piece.length > 1 ? piece.slice(1) : piece)
  }
  return source + (depth > 0 ? '(' : '')
}

/** One token of a glob: a wildcard, a class in brackets, an escaped character, or any single one. */
const TOKEN = /^(?:\*\*\/|\*\*|\[(!?\]?[^\]]*)\]|\\.|.)/su

function characterClass(inner: string): string {
  const isNot = inner.startsWith('!')
  const letters = (isNot ? inner.slice(1) : inner).replace(/[\\[\]^&]/g, '\\$&')
  return `[${isNot ? '^/' : ''}${letters}]`
}

function invalid(glob: string, reason: string): CapabilityError {
  return new CapabilityError('input_invalid', `"${glob}" is not a pattern: ${reason}; try one like **/*.ts`)
}
