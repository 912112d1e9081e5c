import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SpokenTurn } from '../../../packages/core/src/dialects/dialect-contract.ts'
import { checkAnthropicRequest, checkMiniMaxRequest } from './check-anthropic.ts'
import { checkChatRequest } from './check-chat.ts'
import { checkGeminiRequest } from './check-gemini.ts'
import { checkResponsesRequest } from './check-responses.ts'
import { anthropicVoice } from './voices/anthropic.ts'
import { geminiVoice } from './voices/gemini.ts'
import { chatVoice } from './voices/openai-chat.ts'
import { responsesVoice } from './voices/openai-responses.ts'

/** What the model says next; a function sees the request first. `cutAfter` ends the stream after so many events. */
export type ScriptedTurn = ScriptedWords | ((body: Record<string, unknown>) => ScriptedWords)
export type ScriptedWords = SpokenTurn & { readonly cutAfter?: number }

/** A local stand-in for the providers: it refuses what they refuse, and plays a script. */
export interface WireServer {
  readonly url: string
  /** The bodies of all requests that were accepted, in order. */
  readonly requests: readonly Record<string, unknown>[]
  /** What was wrong with those that were not. */
  readonly refusals: readonly string[]
  /** Sets what the model says next; what was not played before is forgotten. */
  play(...turns: readonly ScriptedTurn[]): void
  close(): Promise<void>
}

interface Route {
  readonly path: RegExp
  check(body: Record<string, unknown>): string | undefined
  respond(turn: SpokenTurn): unknown
  stream(turn: SpokenTurn): readonly unknown[]
  readonly sse: 'named' | 'plain'
  readonly end?: string
  errorBody(message: string): unknown
}

const ROUTES: readonly Route[] = [
  {
    path: /^\/minimax\/v1\/messages$/,
    check: checkMiniMaxRequest,
    ...anthropicVoice,
    sse: 'named',
    errorBody: anthropicError,
  },
  {
    path: /\/v1\/messages$/,
    check: checkAnthropicRequest,
    ...anthropicVoice,
    sse: 'named',
    errorBody: anthropicError,
  },
  {
    path: /\/v1\/responses$/,
    check: checkResponsesRequest,
    ...responsesVoice,
    sse: 'named',
    errorBody: openAiError,
  },
  {
    path: /\/v1\/chat\/completions$/,
    check: checkChatRequest,
    ...chatVoice,
    sse: 'plain',
    end: '[DONE]',
    errorBody: openAiError,
  },
  {
    path: /:(generateContent|streamGenerateContent)$/,
    check: checkGeminiRequest,
    ...geminiVoice,
    sse: 'plain',
    errorBody: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
  },
]

export async function startWireServer(): Promise<WireServer> {
  const requests: Record<string, unknown>[] = []
  const refusals: string[] = []
  const script: ScriptedTurn[] = []
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      refusals.push(String(error))
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const text = await readBody(request)
    const route = ROUTES.find(({ path }) => path.test(pathname))
    if (!route) return send(response, 404, { error: { message: `no route ${pathname}` } })
    const body = JSON.parse(text) as Record<string, unknown>
    const fault = /\\ud[89a-f]/i.test(text) ? 'body: invalid unicode' : route.check(body)
    if (fault !== undefined) {
      refusals.push(fault)
      return send(response, 400, route.errorBody(fault))
    }
    requests.push(body)
    const next = script.shift()
    if (next === undefined) return send(response, 400, route.errorBody('the script is at its end'))
    const turn = typeof next === 'function' ? next(body) : next
    const isStream = body.stream === true || pathname.endsWith(':streamGenerateContent')
    if (!isStream) return send(response, 200, route.respond(turn))
    sendStream(response, route, turn)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    refusals,
    play: (...turns) => {
      script.splice(0, script.length, ...turns)
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function sendStream(response: ServerResponse, route: Route, turn: ScriptedWords): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const events = route.stream(turn)
  for (const event of events.slice(0, turn.cutAfter ?? events.length)) {
    const { type } = event as { type?: string }
    if (route.sse === 'named') response.write(`event: ${type}\n`)
    response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
  if (turn.cutAfter !== undefined) {
    // What was written must arrive before the line goes dead.
    response.write(':\n\n', () => response.destroy())
    return
  }
  if (route.end !== undefined) response.write(`data: ${route.end}\n\n`)
  response.end()
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function send(response: ServerResponse, status: number, body: unknown): void {
  // Clients must not try again: a refused request stays refused.
  response.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': 'false' })
  response.end(JSON.stringify(body))
}

function anthropicError(message: string): unknown {
  return { type: 'error', error: { type: 'invalid_request_error', message } }
}

function openAiError(message: string): unknown {
  return { error: { message, type: 'invalid_request_error', param: null, code: null } }
}
