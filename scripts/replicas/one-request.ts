import { TOKEN } from './gateway-process.ts'

export interface Reply {
  readonly status: number
  readonly message: {
    readonly result?: { readonly content?: { readonly text?: string }[] }
    readonly error?: unknown
  }
  readonly session: string | undefined
}

/** Sends a message once. Rejects when there is no answer in time. */
export async function exchange(url: string, message: object, session: string | undefined): Promise<Reply> {
  const abort = new AbortController()
  // Not AbortSignal.timeout(): a response that is being read can outlive its effect.
  const timer = setTimeout(
    () => abort.abort(new Error(`no answer of ${url} to ${JSON.stringify(message)}`)),
    PATIENCE_MS,
  )
  try {
    const answering = fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${TOKEN}`,
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: abort.signal,
    })
    const response = await Promise.race([answering, aborted(abort.signal)])
    const text = await Promise.race([response.text(), aborted(abort.signal)])
    const data = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}')
    const opened = response.headers.get('mcp-session-id') ?? undefined
    return { status: response.status, message: JSON.parse(data), session: opened }
  } finally {
    clearTimeout(timer)
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** A request that has no answer by then is lost. */
const PATIENCE_MS = 30_000

/** Whether nobody accepted the connection, so that nothing was sent. */
export function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}
