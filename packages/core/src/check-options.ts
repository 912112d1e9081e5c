import { ToolcribError } from './errors.ts'
import { isRecord } from './json.ts'
import { nearestName } from './nearest-name.ts'
import { clipText } from './text.ts'

/** One check per option. The type asks for every key of `Options`, so an option cannot be forgotten here. */
export type OptionRules<Options> = { readonly [Key in keyof Options]-?: ValueCheck }

/** What an option's value may be. */
export interface ValueCheck {
  /** Ends the sentence "it must be …". */
  readonly expected: string
  accepts(value: unknown): boolean
  /** Set if the option is required. */
  readonly isRequired?: true
  /** For nested options: their checks. */
  readonly members?: Readonly<Record<string, ValueCheck>>
}

/**
 * Checks an options object that a caller wrote. Throws `config-invalid` for anything but an object, for an unknown key
 * (naming the nearest known one) and for a value out of range (naming what is allowed). A key whose value is
 * `undefined` counts as absent, whether it is known or not. `owner` begins the message: "a registry", "terminal()".
 */
export function checkOptions<Options extends object>(
  owner: string,
  options: unknown,
  rules: OptionRules<Options>,
): void {
  checkMembers(owner, '', options, rules)
}

/**
 * Checks the values of an object that may have other keys too, such as an instance of a class. Throws `config-invalid`
 * for a value out of range.
 */
export function checkFields<Fields extends object>(
  owner: string,
  object: object,
  rules: OptionRules<Fields>,
): void {
  checkKnown(owner, '', object as Readonly<Record<string, unknown>>, rules, Object.keys(rules))
}

/** One of these values. */
export function oneOf(...choices: readonly (string | number | boolean)[]): ValueCheck {
  return {
    expected: `one of ${choices.join(', ')}`,
    accepts: (value) => choices.some((choice) => choice === value),
  }
}

/** An array of these values. */
export function listOf(...choices: readonly string[]): ValueCheck {
  return {
    expected: `an array of ${choices.join(', ')}`,
    accepts: (value) => Array.isArray(value) && value.every((each) => choices.includes(each)),
  }
}

/** A whole number in a range, ends included. */
export function wholeNumber({ from = 0, to = Number.MAX_SAFE_INTEGER } = {}): ValueCheck {
  const range = to === Number.MAX_SAFE_INTEGER ? `, ${from} or more` : ` from ${from} to ${to}`
  return {
    expected: `a whole number${range}`,
    accepts: (value) => Number.isInteger(value) && Number(value) >= from && Number(value) <= to,
  }
}

/** The longest delay that a timer supports; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** A duration: a whole number of milliseconds that a timer supports. */
export function milliseconds({ from = 0 } = {}): ValueCheck {
  return wholeNumber({ from, to: MAX_TIMER_MS })
}

/** Any number in a range, ends included; without `most`, `Infinity` too. */
export function numberFrom(least: number, most = Number.POSITIVE_INFINITY): ValueCheck {
  return {
    expected: expectedNumber(least, most),
    accepts: (value) => typeof value === 'number' && value >= least && value <= most,
  }
}

function expectedNumber(least: number, most: number): string {
  if (most !== Number.POSITIVE_INFINITY) return `a number from ${least} to ${most}`
  return least === Number.NEGATIVE_INFINITY ? 'a number' : `a number, ${least} or more`
}

/** A text. */
export const anyText: ValueCheck = {
  expected: 'a string',
  accepts: (value) => typeof value === 'string',
}

/** A list of texts. */
export const textList: ValueCheck = {
  expected: 'an array of strings',
  accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
}

/** A list. */
export const anyList: ValueCheck = {
  expected: 'an array',
  accepts: (value) => Array.isArray(value),
}

/** `true` or `false`. */
export const trueOrFalse: ValueCheck = {
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
}

/** A function. */
export const anyFunction: ValueCheck = {
  expected: 'a function',
  accepts: (value) => typeof value === 'function',
}

/** Any object that is not an array, including instances of classes. */
export const anyObject: ValueCheck = {
  expected: 'an object',
  accepts: (value) => isRecord(value),
}

/** An `AbortSignal`, of this realm or another. */
export const aSignal: ValueCheck = { expected: 'an AbortSignal', accepts: isSignal }

/** For values that are checked elsewhere. */
export const anyValue: ValueCheck = {
  expected: 'anything',
  accepts: () => true,
}

/** An object with these methods, such as a `Store` or a `Clock`. */
export function objectWith(...methods: readonly string[]): ValueCheck {
  return {
    expected: `an object with ${methods.map((method) => `${method}()`).join(', ')}`,
    accepts: (value) => isRecord(value) && methods.every((method) => typeof value[method] === 'function'),
  }
}

/** An object with any keys, whose values all pass a check. */
export function objectOf(check: ValueCheck): ValueCheck {
  return {
    expected: `an object whose values are each ${check.expected}`,
    accepts: (value) => isRecord(value) && Object.values(value).every((item) => check.accepts(item)),
  }
}

/** Nested options, checked by their own rules; messages name the path, `policy.filter.allow`. */
export function optionsWith<Options extends object>(rules: OptionRules<Options>): ValueCheck {
  return { ...anyObject, members: rules }
}

/** A value that passes any of these. */
export function either(...checks: readonly ValueCheck[]): ValueCheck {
  return {
    expected: checks.map(({ expected }) => expected).join(', or '),
    accepts: (value) => checks.some((check) => check.accepts(value)),
  }
}

/** The same check, for a required option. */
export function required(check: ValueCheck): ValueCheck {
  return { ...check, isRequired: true }
}

function isSignal(value: unknown): boolean {
  if (!anyObject.accepts(value)) return false
  const { aborted, addEventListener, removeEventListener } = value as Partial<AbortSignal>
  const isTarget = typeof addEventListener === 'function' && typeof removeEventListener === 'function'
  return isTarget && typeof aborted === 'boolean'
}

function checkMembers(
  owner: string,
  path: string,
  options: unknown,
  rules: Readonly<Record<string, ValueCheck>>,
): void {
  if (!isRecord(options)) throw invalid(`${owner} takes its options as an object, not ${shown(options)}`)
  const known = Object.keys(rules)
  for (const key of Object.keys(options)) {
    if (options[key] === undefined || Object.hasOwn(rules, key)) continue
    const nearest = nearestName(key, known)
    const step = nearest === undefined ? `it takes ${known.join(', ')}` : `did you mean "${path}${nearest}"?`
    throw invalid(`${owner} has no option "${path}${key}"; ${step}`)
  }
  checkKnown(owner, path, options, rules, known)
}

function checkKnown(
  owner: string,
  path: string,
  options: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, ValueCheck>>,
  known: readonly string[],
): void {
  for (const key of known) {
    const check = rules[key] as ValueCheck
    const value = options[key]
    if (value === undefined && !check.isRequired) continue
    if (!check.accepts(value)) throw invalid(describeFault(owner, path + key, value, check))
    if (check.members !== undefined) checkMembers(owner, `${path}${key}.`, value, check.members)
  }
}

function describeFault(owner: string, name: string, value: unknown, { expected }: ValueCheck): string {
  if (value === undefined) return `${owner} needs the option "${name}": ${expected}`
  return `${owner}: ${name} is ${shown(value)}; it must be ${expected}`
}

const MAX_SHOWN_CHARS = 60

/** A value for a message, or only its kind if the content would not help. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(clipText(value, MAX_SHOWN_CHARS))
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

function invalid(message: string): ToolcribError {
  return new ToolcribError('config-invalid', message)
}
