import { compilePattern } from '../bounded-pattern.ts'
import type { TextTest } from './prepare-schema.ts'

/** Schemas write longer patterns than people who search. */
const MAX_CHARS = 2_000

/**
 * A pattern as a test that takes linear time on any text, and takes its work from a budget: throws `pattern-invalid` when
 * that is spent. Lookaheads right after a leading `^`, the way password rules and forbidden beginnings are written, are
 * tested one by one. Throws for what cannot be tested so: other lookaround and backreferences.
 */
export function linearPattern(pattern: string): TextTest {
  try {
    return compile(pattern)
  } catch (thrown) {
    const parts = splitLookaheads(pattern)
    if (parts === undefined) throw thrown
    const asserted = parts.lookaheads.map(({ source, isNegative }) => ({
      test: compile(`^(?:${source})`),
      isNegative,
    }))
    const rest = compile(`^(?:${parts.rest})`)
    return (text, budget) =>
      rest(text, budget) && asserted.every(({ test, isNegative }) => test(text, budget) !== isNegative)
  }
}

function compile(pattern: string): TextTest {
  const bounded = compilePattern(pattern, { maxLength: MAX_CHARS })
  return (text, budget) => bounded.test(text, budget)
}

interface Lookahead {
  readonly source: string
  readonly isNegative: boolean
}

function splitLookaheads(pattern: string): { lookaheads: Lookahead[]; rest: string } | undefined {
  if (!pattern.startsWith('^')) return undefined
  const lookaheads: Lookahead[] = []
  let rest = pattern.slice(1)
  while (rest.startsWith('(?=') || rest.startsWith('(?!')) {
    const end = closingBracket(rest)
    if (end === undefined) return undefined
    lookaheads.push({ source: rest.slice(3, end), isNegative: rest[2] === '!' })
    rest = rest.slice(end + 1)
  }
  // The `^` of `^a|b` is about `a` alone, and a quantifier would be about the lookahead.
  const isPlain =
    lookaheads.length > 0 && !/^[*+?{]/.test(rest) && closingBracket(`(${rest})`, '|') === rest.length + 1
  return isPlain ? { lookaheads, rest } : undefined
}

/** Where the bracket that opens a pattern closes, unless `forbidden` stands directly inside of it. */
function closingBracket(pattern: string, forbidden?: string): number | undefined {
  let depth = 0
  let isInClass = false
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern[index]
    if (character === '\\') index++
    else if (isInClass) isInClass = character !== ']'
    else if (character === '[') isInClass = true
    else if (character === '(') depth++
    else if (character === ')' && --depth === 0) return index
    else if (character === forbidden && depth === 1) return undefined
  }
  return undefined
}
