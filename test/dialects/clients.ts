import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { anthropic } from '../../packages/core/src/dialects/anthropic.ts'
import type { Dialect, StreamReader } from '../../packages/core/src/dialects/dialect.ts'
import { gemini } from '../../packages/core/src/dialects/gemini.ts'
import { minimax } from '../../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../../packages/core/src/dialects/openai-responses.ts'

/** A dialect with the official client that sends its requests, whole or streamed. */
export interface Client {
  readonly name: string
  readonly dialect: Dialect<unknown, unknown, unknown, unknown>
  send(request: unknown): Promise<unknown>
  stream(request: unknown, onText?: (text: string) => void): Promise<unknown>
}

/** The official clients, pointed at a local server. */
export function clientsFor(url: string): readonly Client[] {
  const anthropicClient = new Anthropic({ apiKey: 'test', baseURL: url, maxRetries: 0 })
  const minimaxClient = new Anthropic({ apiKey: 'test', baseURL: `${url}/minimax`, maxRetries: 0 })
  const openai = new OpenAI({ apiKey: 'test', baseURL: `${url}/v1`, maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: url } })
  const chat = openaiChat()
  const responses = openaiResponses()
  const google_ = gemini()
  return [
    messagesClient('anthropic', anthropicClient, anthropic()),
    messagesClient('minimax', minimaxClient, minimax()),
    client('openai-chat', chat, {
      send: (request) => openai.chat.completions.create({ model: 'test', ...request }),
      stream: (request) => openai.chat.completions.create({ model: 'test', stream: true, ...request }),
    }),
    client('openai-responses', responses, {
      send: (request) => openai.responses.create({ model: 'test', ...request }),
      stream: (request) => openai.responses.create({ model: 'test', stream: true, ...request }),
    }),
    client('gemini', google_, {
      send: (request) => google.models.generateContent({ model: 'test', ...request }),
      stream: (request) => google.models.generateContentStream({ model: 'test', ...request }),
    }),
  ]
}

function messagesClient(
  name: string,
  anthropicClient: Anthropic,
  dialect: ReturnType<typeof anthropic>,
): Client {
  const fixed = { model: 'test', max_tokens: 100 } as const
  return client(name, dialect, {
    send: (request) => anthropicClient.messages.create({ ...fixed, ...request }),
    stream: (request) => anthropicClient.messages.create({ ...fixed, stream: true, ...request }),
  })
}

function client<Message, Request, Response, StreamEvent>(
  name: string,
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  api: {
    send(request: Request): Promise<Response>
    stream(request: Request): Promise<AsyncIterable<StreamEvent>>
  },
): Client {
  return {
    name,
    // Each client speaks its own dialect; the tests only pass its values on.
    dialect: dialect as unknown as Client['dialect'],
    send: (request) => api.send(request as Request),
    stream: async (request, onText) =>
      readAll(await api.stream(request as Request), dialect.openStream(), onText),
  }
}

/** Reads a stream to its end, or to where it breaks. */
async function readAll<StreamEvent, Response>(
  events: AsyncIterable<StreamEvent>,
  reader: StreamReader<StreamEvent, Response>,
  onText: (text: string) => void = () => {},
): Promise<Response> {
  try {
    for await (const event of events) onText(reader.add(event))
  } catch {
    // A broken line: what came is what there is.
  }
  return reader.response()
}
