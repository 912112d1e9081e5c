import { isJson, type Json } from '../json-rpc.ts'

/** The error of a call that needs the user to visit a page first. */
export const VISIT_NEEDED = -32_042

/** A result with questions of its server, as its client gets them: each names the server. */
export function withNamedQuestions(server: string, result: Json): Json {
  if (!isJson(result.inputRequests)) return result
  const named = Object.entries(result.inputRequests).map(([key, question]) => {
    if (!isJson(question)) return [key, question]
    const { method, params } = question
    return [key, { ...question, params: namedQuestion(server, method, isJson(params) ? params : {}) }]
  })
  return { ...result, inputRequests: Object.fromEntries(named) }
}

/**
 * The parameters of a server's question, with its name in front of the text that the user reads: without it, every
 * server could ask in the name of another. A sampling request gets it in its first message, which clients show for
 * approval; its system prompt stays unchanged. `includeContext` is removed, because it would hand the context of all
 * servers behind the gateway to one of them.
 */
export function namedQuestion(server: string, method: unknown, params: Json): Json {
  if (method === 'elicitation/create') return { ...params, message: named(server, params.message) }
  if (method !== 'sampling/createMessage') return params
  const { includeContext, ...rest } = params
  return { ...rest, messages: namedMessages(server, Array.isArray(rest.messages) ? rest.messages : []) }
}

/** What an error says about pages to visit, with the server's name in each text. */
export function namedVisits(server: string, data: unknown): unknown {
  if (!isJson(data) || !Array.isArray(data.elicitations)) return data
  const elicitations = data.elicitations.map((visit) =>
    isJson(visit) ? namedQuestion(server, 'elicitation/create', visit) : visit,
  )
  return { ...data, elicitations }
}

function namedMessages(server: string, messages: readonly unknown[]): readonly unknown[] {
  const [first, ...others] = messages
  const { content, ...rest } = isJson(first) ? first : {}
  if (isText(content))
    return [{ ...rest, content: { ...content, text: named(server, content.text) } }, ...others]
  // It may begin with an image, or with several blocks.
  return [{ role: 'user', content: { type: 'text', text: `[${server}]` } }, ...messages]
}

function isText(content: unknown): content is Json {
  return isJson(content) && content.type === 'text'
}

function named(server: string, text: unknown): string {
  return `[${server}] ${typeof text === 'string' ? text : ''}`
}
