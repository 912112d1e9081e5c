/** 48,312 */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** ~48.3k, ~2.1M: estimates. */
export function about(value: number): string {
  if (value === 0) return '0'
  if (value < 10_000) return `~${whole(value)}`
  if (value < 1_000_000) return `~${(value / 1_000).toFixed(value < 100_000 ? 1 : 0)}k`
  return `~${(value / 1_000_000).toFixed(1)}M`
}

/** 616; ~616 where it is an estimate. */
export function tokensOf({
  tokens = 0,
  isExact,
}: {
  readonly tokens?: number
  readonly isExact?: boolean
}): string {
  return `${isExact ? '' : '~'}${whole(tokens)}`
}

/** $0.0042, $1.30 */
export function money(dollars: number): string {
  if (dollars === 0) return '$0'
  return dollars < 0.1 ? `$${dollars.toPrecision(2)}` : `$${dollars.toFixed(2)}`
}

export function duration(ms: number): string {
  if (ms < 1) return '<1 ms'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return `${Math.round(ms / 60_000)} min`
}

export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB')
}

/** 3 min ago */
export function ago(at: number, now: number = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - at) / 1_000))
  if (seconds < 60) return 'just now'
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`
  return `${Math.floor(seconds / 86_400)} d ago`
}

export function plural(count: number, noun: string): string {
  return `${whole(count)} ${noun}${count === 1 ? '' : noun.endsWith('ch') ? 'es' : 's'}`
}

/** Capitalised: messages of servers begin in lower case, because others quote them. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Calls of tools without the searches, which are calls too. */
export function toolCalls({
  calls,
  searches,
}: {
  readonly calls: number
  readonly searches: number
}): number {
  return Math.max(0, calls - searches)
}

/** `2026-11-16` as 16 Nov */
export function dayOf(iso: string): string {
  return new Date(`${iso}T12:00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}
