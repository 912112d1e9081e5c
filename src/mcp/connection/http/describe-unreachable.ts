import { describeError } from '../../../errors.ts'

/**
 * Why nothing answers at an address, in a line with the next step; undefined when the failure is of another kind.
 * Whatever follows the path is left out: it may hold a key.
 */
export function describeUnreachable(url: URL, error: unknown): string | undefined {
  const causes = causesOf(error)
  // What fetch throws when it got no answer; why stands in its cause.
  const failed = causes.findIndex((cause) => cause instanceof TypeError && cause.message === 'fetch failed')
  if (failed < 0) return undefined
  const reason = causes[failed + 1] ?? causes[failed]
  const code = reason !== undefined && 'code' in reason ? String(reason.code) : describeError(reason)
  const step = STEPS[code] ?? 'check its url, and that the server is running'
  return `nothing answers at ${url.origin}${url.pathname} (${code}); ${step}`
}

const STEPS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'start the server, or mend its url',
  ENOTFOUND: 'there is no such host: mend its url',
}

const MAX_DEPTH = 8

function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < MAX_DEPTH; cause = cause.cause)
    causes.push(cause)
  return causes
}
