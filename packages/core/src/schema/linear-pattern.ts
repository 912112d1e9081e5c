import { compilePattern } from '../bounded-pattern.ts'
import type { WorkBudget } from '../time.ts'

/** Whether a text matches, charging the work to a budget. */
export type TextTest = (text: string, budget?: WorkBudget) => boolean

/** Patterns in schemas are longer than those in searches. */
const MAX_CHARS = 2_000

/**
 * Compiles a pattern to a test that runs in linear time and charges its work to a budget; the test throws
 * `pattern-invalid` when the budget runs out. Lookaheads directly after a leading `^`, as in password rules and
 * forbidden prefixes, are tested one by one. Throws for other lookaround and for backreferences, which have no linear
 * test.
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
  // The `^` of `^a|b` applies only to `a`, and a quantifier would apply to the lookahead.
  const isPlain =
    lookaheads.length > 0 && !/^[*+?{]/.test(rest) && closingBracket(`(${rest})`, '|') === rest.length + 1
  return isPlain ? { lookaheads, rest } : undefined
}

/**
 * The index of the bracket that closes the pattern's first one; undefined if `forbidden` occurs directly inside it.
 */
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
