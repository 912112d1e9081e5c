import {
  type Assertion,
  type CharacterSet,
  type PatternFlags,
  type PatternNode,
  readPattern,
} from './pattern-syntax.ts'

/** One step of a program. `next` and `other` are the numbers of the steps that follow. */
export type Step =
  | { readonly kind: 'character'; readonly set: CharacterSet; readonly next: number }
  | { readonly kind: 'fork'; readonly next: number; readonly other: number }
  | { readonly kind: 'assert'; readonly what: Assertion; readonly next: number }
  | { readonly kind: 'match' }

/** A pattern as steps: the first to take, and all of them by number. */
export interface PatternProgram {
  readonly start: number
  readonly steps: readonly Step[]
  readonly hasAssertions: boolean
}

/**
 * Reads a pattern and unfolds its counted repeats. The syntax is that of JavaScript with what RE2 adds (`(?i)`, `\A`,
 * `\z`, `[[:alpha:]]`, `(?P<name>…)`). Throws an `Error` that says what is wrong with it: a syntax error, lookaround or
 * backreferences, or more than `maxSteps` steps.
 */
export function readProgram(source: string, flags: PatternFlags, maxSteps: number): PatternProgram {
  const tree = readPattern(source, flags)
  const size = sizeOf(tree) + 1
  if (size > maxSteps) {
    throw new Error(`its repeats unfold to ${size} steps, and ${maxSteps} is the most; repeat less often`)
  }
  const steps: Step[] = [{ kind: 'match' }]
  const start = unfold(tree, 0, steps)
  return { start, steps, hasAssertions: steps.some(({ kind }) => kind === 'assert') }
}

/** Counts the steps that `unfold` would create for a node. */
function sizeOf(node: PatternNode): number {
  if (node.kind === 'sequence') return node.items.reduce((sum, item) => sum + sizeOf(item), 0)
  if (node.kind === 'choice') return node.options.reduce((sum, option) => sum + sizeOf(option) + 1, -1)
  if (node.kind !== 'repeat') return 1
  const { min, max } = node
  const size = sizeOf(node.node)
  return max === Number.POSITIVE_INFINITY ? Math.max(min, 1) * size + 1 : max * size + (max - min)
}

/** Appends the steps of a node that is followed by step `next`; returns the number of its first one. */
function unfold(node: PatternNode, next: number, steps: Step[]): number {
  switch (node.kind) {
    case 'character':
      return steps.push({ kind: 'character', set: node.set, next }) - 1
    case 'assert':
      return steps.push({ kind: 'assert', what: node.what, next }) - 1
    case 'sequence':
      return node.items.reduceRight((after, item) => unfold(item, after, steps), next)
    case 'choice': {
      const firsts = node.options.map((option) => unfold(option, next, steps))
      return firsts.reduceRight((other, first) => steps.push({ kind: 'fork', next: first, other }) - 1)
    }
    case 'repeat':
      return unfoldRepeat(node, next, steps)
  }
}

function unfoldRepeat(
  { node, min, max }: Extract<PatternNode, { kind: 'repeat' }>,
  next: number,
  steps: Step[],
): number {
  let after = next
  let required = min
  if (max === Number.POSITIVE_INFINITY) {
    // The fork comes first, so that the repeated part can lead back to it.
    const fork = steps.push({ kind: 'match' }) - 1
    const first = unfold(node, fork, steps)
    steps[fork] = { kind: 'fork', next: first, other: next }
    after = min === 0 ? fork : first
    required = min - 1
  } else {
    for (let optional = max - min; optional > 0; optional--)
      after = steps.push({ kind: 'fork', next: unfold(node, after, steps), other: next }) - 1
  }
  for (; required > 0; required--) after = unfold(node, after, steps)
  return after
}
