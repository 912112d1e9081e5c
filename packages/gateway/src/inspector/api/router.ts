import { ToolcribError } from '@toolcrib/core'
import type { Inspection } from '../inspection.ts'
import { invalid, type Route, readInput } from './route.ts'
import { ROUTES } from './routes.ts'

/** A header that a page of another origin cannot send without a preflight request. */
export const PAGE_HEADER = 'x-toolcrib-page'
const MAX_BODY_BYTES = 1024 * 1024

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

/** Answers a request of the page under `/api`. The caller has already checked the token. */
export async function answerApi(inspection: Inspection, request: Request): Promise<Response> {
  const url = new URL(request.url)
  const name = url.pathname.slice('/api/'.length)
  const route = findRoute(name)
  if (!route) return failure(404, 'not-found', `there is no /api/${name.slice(0, 60)}`)
  if (request.method !== route.method) return failure(405, 'method', `use ${route.method}`)
  if (!isSentByPage(request))
    return failure(
      403,
      'page-only',
      `requests that change something, or have no token, need the header ${PAGE_HEADER}`,
    )
  try {
    const given =
      route.method === 'POST' ? await readBody(request) : Object.fromEntries(url.searchParams.entries())
    const { signal, headers } = request
    const output = await route.run(inspection, readInput(route, given), { signal, headers })
    return output instanceof Response ? output : Response.json(output ?? null, { headers: HEADERS })
  } catch (error) {
    if (error instanceof ToolcribError) return failure(400, error.code, error.message)
    return failure(500, 'internal', 'something failed inside; the log of the gateway may say more')
  }
}

/** Other pages cannot send these headers; without them, a link or an image on any page could make requests. */
function isSentByPage({ method, headers }: Request): boolean {
  return headers.has(PAGE_HEADER) || (method === 'GET' && headers.has('authorization'))
}

function findRoute(name: string): Route<Record<string, unknown>, unknown> | undefined {
  if (!Object.hasOwn(ROUTES, name)) return undefined
  return ROUTES[name as keyof typeof ROUTES] as unknown as Route<Record<string, unknown>, unknown>
}

function failure(status: number, code: string, error: string): Response {
  return Response.json({ code, error }, { status, headers: HEADERS })
}

async function readBody(request: Request): Promise<Record<string, unknown>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > MAX_BODY_BYTES) throw invalid('the request is larger than 1 MiB')
    chunks.push(chunk)
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return { ...body }
  } catch {
    // Reported below.
  }
  throw invalid('the body must be a JSON object')
}
