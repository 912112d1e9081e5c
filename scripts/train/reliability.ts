import { SIZES } from './small-catalogues.ts'

/**
 * The share of each kind of request, relative to requests that the catalogue can serve. The labelled sets contain only
 * such requests, so others are added: in a small catalogue three for every two, most of them for a server that is
 * present; fewer in a large one, which often has a tool for a stranger's request.
 */
export const SHARES = {
  labelled: 1,
  strangers: 0.3,
  'tools removed': 0.1,
  served: 1,
  'near miss': 0.8,
  elsewhere: 0.4,
  'no tool': 0.3,
}
export type Lesson = keyof typeof SHARES

/** A match and its score. */
export interface Place {
  readonly score: number
  readonly isRight: boolean
}

/** The first matches of a request. */
export interface Answer {
  readonly family: string
  readonly lesson: Lesson
  /** How many tools the catalogue has. */
  readonly tools: number
  readonly weight: number
  readonly places: readonly Place[]
}

const SMALL: readonly Lesson[] = ['served', 'near miss', 'elsewhere', 'no tool']
const UNSERVED: readonly Lesson[] = ['near miss', 'elsewhere', 'no tool']

/** How well the scores of some answers match the share of right ones, in lines to print. */
export function reliabilityLines(answers: readonly Answer[]): string[] {
  const of = (...lessons: readonly Lesson[]) => answers.filter(({ lesson }) => lessons.includes(lesson))
  const columns: [string, readonly Answer[]][] = [
    ['labelled', of('labelled')],
    ['with strangers', of('labelled', 'strangers', 'tools removed')],
    ['small, served', of('served')],
    ['small, all', of(...SMALL)],
    ['all', answers],
  ]
  return [
    `first match right, %   ${columns.map(([name]) => name.padStart(15)).join('')}   strangers there`,
    ...Array.from({ length: 10 }, (_, tenth) => {
      const cells = columns.map(([, some]) => rightIn(some, tenth).padStart(15))
      const strangers = of('strangers')
      const there = strangers.filter((one) => tenthOf(first(one).score) === tenth).length / strangers.length
      return `${(tenth / 10).toFixed(1)}–${((tenth + 1) / 10).toFixed(1)}                ${cells.join('')}   ${percent(there)}`
    }),
    ...columns.map(
      ([name, some]) =>
        `${name}: log-loss ${logLossOf(some).toFixed(4)}, calibration error ${percent(errorOf(some))}`,
    ),
    `small catalogues, %: first score from 0.5 (from 0.3) of ${UNSERVED.join(', ')}; right first matches below 0.3 of served`,
    ...SIZES.map((size) => sizeLine(size, answers)),
    `right first matches below 0.3 of labelled: ${percent(lowShare(of('labelled')))}`,
    ...Object.keys(SHARES).map((lesson) => {
      const some = of(lesson as Lesson)
      return `${lesson}: first score from 0.5 ${percent(shareFrom(some, 0.5))}, from 0.3 ${percent(shareFrom(some, 0.3))}`
    }),
  ]
}

function sizeLine(size: number, answers: readonly Answer[]): string {
  const index = SIZES.indexOf(size)
  const of = (lesson: Lesson) =>
    answers.filter((one) => one.lesson === lesson && sizeIndexOf(one.tools) === index)
  const cells = UNSERVED.map((lesson) => {
    const some = of(lesson)
    return `${percent(shareFrom(some, 0.5))} (${percent(shareFrom(some, 0.3))})`
  })
  return `up to ${String(size).padStart(3)}: ${cells.join('  ')}  ${percent(lowShare(of('served')))}`
}

function sizeIndexOf(tools: number): number {
  return SIZES.findIndex((size) => tools <= size)
}

function first({ places }: Answer): Place {
  return places[0] ?? { score: 0, isRight: false }
}

function tenthOf(score: number): number {
  return Math.min(9, Math.floor(10 * score))
}

function rightIn(answers: readonly Answer[], tenth: number): string {
  const inside = answers.filter((one) => tenthOf(first(one).score) === tenth)
  const total = inside.reduce((sum, { weight }) => sum + weight, 0)
  const right = inside.reduce((sum, one) => sum + (first(one).isRight ? one.weight : 0), 0)
  return total === 0 ? '–' : percent(right / total)
}

function logLossOf(answers: readonly Answer[]): number {
  const total = answers.reduce((sum, { weight }) => sum + weight, 0)
  return answers.reduce((sum, one) => sum + one.weight * lossOf(first(one)), 0) / total
}

function lossOf({ score, isRight }: Place): number {
  const chance = Math.min(0.999, Math.max(0.001, score))
  return -Math.log(isRight ? chance : 1 - chance)
}

/** The mean distance of score and share of right matches, by tenths. */
function errorOf(answers: readonly Answer[]): number {
  const errors = new Array<number>(10).fill(0)
  let total = 0
  for (const one of answers) {
    const { score, isRight } = first(one)
    const at = tenthOf(score)
    errors[at] = (errors[at] ?? 0) + one.weight * (score - (isRight ? 1 : 0))
    total += one.weight
  }
  return errors.reduce((sum, error) => sum + Math.abs(error), 0) / total
}

function shareFrom(answers: readonly Answer[], from: number): number {
  return answers.filter((one) => first(one).score >= from).length / answers.length
}

function lowShare(answers: readonly Answer[]): number {
  const right = answers.filter((one) => first(one).isRight)
  return right.filter((one) => first(one).score < 0.3).length / right.length
}

function percent(share: number): string {
  return Number.isNaN(share) ? '–' : (100 * share).toFixed(1)
}
