import type { ContentBlock, ToolContext, ToolResult } from '@toolcrib/core'
import { CapabilityError, jsonReducer } from '@toolcrib/core'
import { clipText, isRecord, mapTexts, parseJson } from '@toolcrib/core/internal'
import { failure, success } from '../builtin-tools/answering.ts'
import type { Node } from './document.ts'
import type { RequestParts } from './operation-schema.ts'
import type { Operation } from './operations.ts'

/** How much of an error answer is passed on. */
const ERROR_CHARS = 1_000

/** Where requests of an API go, and what each of them carries. */
export interface ApiAddress {
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: (ctx: ToolContext, url: URL, init: RequestInit) => Promise<Response>
  /** Removes hidden characters, and the values of the headers, from a text. */
  readonly visible: (text: string) => string
}

/** The `execute` of an operation: sends its request, and makes a result of the answer. */
export function sender(
  operation: Operation,
  parts: RequestParts,
  address: ApiAddress,
): (input: unknown, ctx: ToolContext) => Promise<ToolResult> {
  const reducer = jsonReducer({ toolName: operation.name })
  const { bodyType } = parts
  return async (input, ctx) => {
    const given = isRecord(input) ? input : {}
    // Not what every object has: a parameter may be called "constructor".
    const argument = (key: string) => (Object.hasOwn(given, key) ? given[key] : undefined)
    const { url, headers } = requestOf(operation, parts, { argument, baseUrl: address.baseUrl })
    const body = bodyType === undefined ? undefined : argument('body')
    const sent = body === undefined || bodyType === undefined ? undefined : bodyOf(body, bodyType, parts)
    if (typeof sent === 'string' && bodyType !== undefined) headers.set('content-type', bodyType)
    for (const [name, value] of Object.entries(address.headers)) headers.set(name, value)
    const init = { method: operation.method.toUpperCase(), headers, signal: ctx.signal }
    const response = await address.fetch(ctx, url, sent === undefined ? init : { ...init, body: sent })
    const result = await resultOf(response, operation, address.visible)
    const shortened = reducer.reduce(result, { args: given, turnCount: ctx.turnCount }) ?? result
    const more = result.ok ? nextPage(response, url, parts) : undefined
    if (more === undefined || !shortened.ok) return shortened
    return { ...shortened, value: `${shortened.value}\n[${address.visible(more)}]` }
  }
}

function requestOf(
  { path }: Operation,
  { parameters }: RequestParts,
  { argument, baseUrl }: { readonly argument: (key: string) => unknown; readonly baseUrl: string },
) {
  const headers = new Headers({ accept: 'application/json, */*;q=0.5' })
  const cookies: string[] = []
  const [template = '', ownQuery = ''] = path.split(/\?(.*)/s)
  const query: string[] = []
  let filled = template
  for (const [key, parameter] of parameters) {
    const value = argument(key)
    if (value === undefined) continue
    const { name } = parameter
    if (parameter.in === 'path') filled = filled.replaceAll(`{${name}}`, () => pathSegment(key, value))
    else if (parameter.in === 'query') query.push(...queryParts(name, parameter.node, value))
    else if (parameter.in === 'header') headers.set(name, simpleText(value))
    else cookies.push(`${name}=${encodeURIComponent(simpleText(value))}`)
  }
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '))
  const base = new URL(baseUrl)
  const url = new URL(base.origin + base.pathname.replace(/\/+$/, '') + filled)
  url.search = [base.search.slice(1), ownQuery, ...query].filter((part) => part !== '').join('&')
  return { url, headers }
}

/** A value must not lead to another path. */
function pathSegment(key: string, value: unknown): string {
  const text = simpleText(value)
  if (text === '' || text === '.' || text === '..')
    throw new CapabilityError(
      'input_invalid',
      `"${key}" is part of the path and cannot be ${JSON.stringify(text)}`,
    )
  return encodeURIComponent(text)
}

/** A parameter in the style that the document asks for: `a=1&a=2`, `a=1,2`, `a[b]=1`, or JSON. */
function queryParts(name: string, node: Node, value: unknown): readonly string[] {
  const pair = (key: string, text: string) => `${encodeURIComponent(key)}=${encodeURIComponent(text)}`
  if (isRecord(node.content)) return [pair(name, JSON.stringify(value))]
  const { style = 'form', explode = style === 'form' } = node
  if (Array.isArray(value)) {
    if (explode === true) return value.map((each) => pair(name, plainText(each)))
    const joint = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ','
    return [
      `${encodeURIComponent(name)}=${value.map((each) => encodeURIComponent(plainText(each))).join(joint)}`,
    ]
  }
  if (!isRecord(value)) return [pair(name, plainText(value))]
  const fields = Object.entries(value)
  if (style === 'deepObject') return fields.map(([key, field]) => pair(`${name}[${key}]`, plainText(field)))
  if (explode === true) return fields.map(([key, field]) => pair(key, plainText(field)))
  return [pair(name, fields.flatMap(([key, field]) => [key, plainText(field)]).join(','))]
}

function bodyOf(body: unknown, type: string, { encoding = {} }: RequestParts): string | FormData {
  if (/[/+]json\b/i.test(type)) return JSON.stringify(body)
  const fields = isRecord(body) ? Object.entries(body) : undefined
  const encodingOf = (name: string): Node => {
    const own = Object.hasOwn(encoding, name) ? encoding[name] : undefined
    return isRecord(own) ? own : {}
  }
  if (fields && /x-www-form-urlencoded/i.test(type))
    return fields.flatMap(([name, value]) => queryParts(name, encodingOf(name), value)).join('&')
  if (fields && /^multipart\/form-data/i.test(type)) {
    const form = new FormData()
    for (const [name, value] of fields) for (const each of [value].flat()) form.append(name, plainText(each))
    return form
  }
  return plainText(body)
}

/** As paths and headers have it: `1,2`. */
function simpleText(value: unknown): string {
  return Array.isArray(value) ? value.map(plainText).join(',') : plainText(value)
}

function plainText(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

async function resultOf(
  response: Response,
  { method, path }: Operation,
  visible: (text: string) => string,
): Promise<ToolResult> {
  const type = visible(response.headers.get('content-type') ?? '')
  const what = visible(`${method.toUpperCase()} ${path}`)
  const bytes = new Uint8Array(await response.arrayBuffer())
  const isText =
    bytes.length === 0 || /^text\/|[/+](json|xml|yaml|x-ndjson|javascript)\b/i.test(type) || type === ''
  const text = isText ? visible(new TextDecoder().decode(bytes)) : ''
  if (!response.ok) {
    const refused =
      response.status === 401 || response.status === 403
        ? '; the credentials of this API are in the headers that its host configured'
        : ''
    const said = text === '' ? '' : `: ${clipText(text, ERROR_CHARS)}`
    const status = visible(`${response.status} ${response.statusText}`.trim())
    return failure(`${what} answered ${status}${refused}${said}`)
  }
  if (bytes.length === 0) return success(`${what} answered ${response.status} without content.`)
  if (isText) return success(text, /json/i.test(type) ? visibleData(text, visible) : undefined)
  const described = `${what} answered ${bytes.length} bytes of ${type}.`
  if (!/^(image|audio)\//i.test(type)) return success(described)
  const [mimeType = type] = type.split(';')
  const kind = mimeType.startsWith('image/') ? 'image' : 'audio'
  const content: ContentBlock[] = [{ type: kind, data: Buffer.from(bytes).toString('base64'), mimeType }]
  return { ok: true, value: described, content }
}

/** JSON as data. Escapes become characters only here, so its texts are cleaned again. */
function visibleData(json: string, visible: (text: string) => string): unknown {
  const data = parseJson(json)
  return data === undefined ? undefined : mapTexts(data, visible)
}

/** Which arguments ask for the next page, if the answer links to one. */
function nextPage(response: Response, asked: URL, { parameters }: RequestParts): string | undefined {
  const link = /<([^>]{1,2000})>\s*;[^,]{0,200}\brel="?next\b/i.exec(response.headers.get('link') ?? '')?.[1]
  if (link === undefined || !URL.canParse(link, asked)) return undefined
  const { searchParams } = new URL(link, asked)
  const changed = [...parameters].flatMap(([key, { name, in: place }]) => {
    const value = place === 'query' ? searchParams.get(name) : null
    return value === null || value === asked.searchParams.get(name)
      ? []
      : [`${key}: ${JSON.stringify(value)}`]
  })
  return changed.length === 0 ? undefined : `there is more: call again with ${changed.join(', ')}`
}
