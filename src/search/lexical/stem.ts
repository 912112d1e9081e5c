/**
 * The stem of an English word, by Porter's algorithm: `connected`, `connecting` and `connections` share one. Words in
 * other scripts, with digits, or of fewer than three letters are their own stem. Expects lower case.
 */
export function stem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word
  let stemmed = withoutPlural(word)
  stemmed = withoutPastOrGerund(stemmed)
  if (stemmed.endsWith('y') && hasVowel(stemmed.slice(0, -1))) stemmed = `${stemmed.slice(0, -1)}i`
  stemmed = replaceSuffix(stemmed, DOUBLE_SUFFIXES)
  stemmed = replaceSuffix(stemmed, LONG_SUFFIXES)
  stemmed = withoutLastSuffix(stemmed)
  return tidied(stemmed)
}

function withoutPlural(word: string): string {
  if (word.endsWith('sses') || word.endsWith('ies')) return word.slice(0, -2)
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}

function withoutPastOrGerund(word: string): string {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word
  const ending = ['ed', 'ing'].find((suffix) => word.endsWith(suffix))
  if (ending === undefined) return word
  const rest = word.slice(0, -ending.length)
  if (!hasVowel(rest)) return word
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`
  if (/([^aeioulsz])\1$/.test(rest)) return rest.slice(0, -1)
  return measure(rest) === 1 && endsShort(rest) ? `${rest}e` : rest
}

// `relational` → `relate`: endings of two suffixes lose the outer one.
const DOUBLE_SUFFIXES: readonly (readonly [string, string])[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['bli', 'ble'],
  ['alli', 'al'],
  ['entli', 'ent'],
  ['eli', 'e'],
  ['ousli', 'ous'],
  ['ization', 'ize'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['alism', 'al'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['biliti', 'ble'],
  ['logi', 'log'],
]

const LONG_SUFFIXES: readonly (readonly [string, string])[] = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ful', ''],
  ['ness', ''],
]

function replaceSuffix(word: string, suffixes: readonly (readonly [string, string])[]): string {
  for (const [suffix, replacement] of suffixes) {
    if (!word.endsWith(suffix)) continue
    const rest = word.slice(0, -suffix.length)
    return measure(rest) > 0 ? rest + replacement : word
  }
  return word
}

// Longer ones first: `ement` before `ment` before `ent`.
const LAST_SUFFIXES = [
  ...[
    'ement',
    'ance',
    'ence',
    'able',
    'ible',
    'ment',
    'ant',
    'ent',
    'sion',
    'tion',
    'ism',
    'ate',
    'iti',
    'ous',
  ],
  ...['ive', 'ize', 'al', 'er', 'ic', 'ou'],
]

function withoutLastSuffix(word: string): string {
  const suffix = LAST_SUFFIXES.find((candidate) => word.endsWith(candidate))
  if (suffix === undefined) return word
  // Of `-sion` and `-tion` only `ion` is removed: `adoption` → `adopt`.
  const rest = word.slice(0, suffix.endsWith('ion') ? -3 : -suffix.length)
  return measure(rest) > 1 ? rest : word
}

function tidied(word: string): string {
  let tidy = word
  if (tidy.endsWith('e')) {
    const rest = tidy.slice(0, -1)
    const size = measure(rest)
    if (size > 1 || (size === 1 && !endsShort(rest))) tidy = rest
  }
  return tidy.endsWith('ll') && measure(tidy) > 1 ? tidy.slice(0, -1) : tidy
}

/** Counts how often a consonant follows a vowel: a rough number of syllables. */
function measure(word: string): number {
  let count = 0
  let afterVowel = false
  for (let at = 0; at < word.length; at++) {
    const vowel = isVowel(word, at)
    if (afterVowel && !vowel) count++
    afterVowel = vowel
  }
  return count
}

function hasVowel(word: string): boolean {
  for (let at = 0; at < word.length; at++) if (isVowel(word, at)) return true
  return false
}

/** `y` is a vowel after a consonant. */
function isVowel(word: string, at: number): boolean {
  const letter = word[at] ?? ''
  if (letter !== 'y') return 'aeiou'.includes(letter)
  return at > 0 && !isVowel(word, at - 1)
}

/** Ends in consonant, vowel, consonant, as in `hop`: such a word keeps its `e`. */
function endsShort(word: string): boolean {
  const last = word.length - 1
  if (last < 2 || isVowel(word, last) || !isVowel(word, last - 1) || isVowel(word, last - 2)) return false
  return !'wxy'.includes(word[last] ?? '')
}
