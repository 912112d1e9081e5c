/** What stands where a secret stood. */
const MASK = '***'
/** Pieces shorter than this are too common to be masked without wrecking the text. */
const MIN_LENGTH = 6
/** Lines of a longer secret (a key in PEM form) are masked each on its own from this length on. */
const MIN_LINE_LENGTH = 16

/**
 * Masks the values wherever they stand in a text: as they are, as JSON or a URL writes them, and in base64, also
 * where they are a part of what was encoded (`Basic` credentials). Values too short to be masked safely are left.
 */
export function maskValues(values: readonly string[]): (text: string) => string {
  const forms = [...new Set(values.filter(isMaskable).flatMap(formsOf))]
  return (text) => replaceRanges(text, mergedRanges(text, forms))
}

/** Whether a value is long enough to be told apart from ordinary text. */
export function isMaskable(value: string): boolean {
  return value.length >= MIN_LENGTH
}

function formsOf(value: string): string[] {
  const lines = value
    .split(/\r?\n/)
    .filter((line) => line.length >= MIN_LINE_LENGTH && !line.startsWith('-----'))
  const pieces = [value, value.trim(), ...lines].filter(isMaskable)
  return [...pieces, ...pieces.flatMap(encodingsOf)].filter(isMaskable)
}

function encodingsOf(value: string): string[] {
  const bytes = new TextEncoder().encode(value)
  const encoded = percentEncode(value)
  const form = new URLSearchParams([['', value]]).toString().slice(1)
  const json = JSON.stringify(value).slice(1, -1)
  return [
    json,
    json.replaceAll('/', '\\/'),
    encoded,
    lowerEscapes(encoded),
    form,
    lowerEscapes(form),
    ...base64Forms(bytes),
  ]
}

/** Like encodeURIComponent, which throws on half a surrogate pair. */
function percentEncode(value: string): string {
  return encodeURIComponent(new TextDecoder().decode(new TextEncoder().encode(value)))
}

function lowerEscapes(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase())
}

/**
 * Base64 packs three bytes into four letters, so a value looks different at each of three offsets in a longer
 * text. The letters that its neighbours share are left out; the rest is the same whatever they are.
 */
function base64Forms(bytes: Uint8Array): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = new Uint8Array(offset + bytes.length)
    padded.set(bytes, offset)
    const letters = Buffer.from(padded).toString('base64').replaceAll('=', '')
    const own = letters.slice(Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

/** Where any of the forms stands. Those that overlap become one, so that no rest of a secret is left over. */
function mergedRanges(text: string, forms: readonly string[]): [start: number, end: number][] {
  const found: [start: number, end: number][] = []
  for (const form of forms) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1))
      found.push([at, at + form.length])
  }
  found.sort(([first], [second]) => first - second)
  const merged: [start: number, end: number][] = []
  for (const [start, end] of found) {
    const last = merged.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else merged.push([start, end])
  }
  return merged
}

function replaceRanges(text: string, ranges: readonly (readonly [start: number, end: number])[]): string {
  let masked = ''
  let from = 0
  for (const [start, end] of ranges) {
    masked += text.slice(from, start) + MASK
    from = end
  }
  return masked + text.slice(from)
}
