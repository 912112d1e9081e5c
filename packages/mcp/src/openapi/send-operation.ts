import type { ContentBlock, ToolContext, ToolResult } from '@toolcrib/core'
import { CapabilityError, jsonReducer } from '@toolcrib/core'
import { clipText, isRecord, parseJson } from '@toolcrib/core/internal'
import { failure, success } from '../builtin-tools/answering.ts'
import type { RequestParts } from './operation-schema.ts'
import type { Operation, Parameter } from './operations.ts'

/** How much of an error answer is passed on. */
const ERROR_CHARS = 1_000

/** Where requests of an API go, and what each of them carries. */
export interface ApiAddress {
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: (ctx: ToolContext, url: URL, init: RequestInit) => Promise<Response>
  /** Removes the values of the headers from a text. */
  readonly conceal: (text: string) => string
}

/** The `execute` of an operation: sends its request, and makes a result of the answer. */
export function sender(
  operation: Operation,
  parts: RequestParts,
  address: ApiAddress,
): (input: unknown, ctx: ToolContext) => Promise<ToolResult> {
  const reducer = jsonReducer({ toolName: operation.name })
  return async (input, ctx) => {
    const args = isRecord(input) ? input : {}
    const { url, headers } = requestOf(operation, parts, { args, baseUrl: address.baseUrl })
    const body = args.body === undefined ? undefined : bodyOf(args.body, parts.bodyType ?? 'application/json')
    const type =
      body === undefined || body instanceof FormData ? {} : { 'content-type': parts.bodyType ?? '' }
    const response = await address.fetch(ctx, url, {
      method: operation.method.toUpperCase(),
      // What the host configured counts last: no argument replaces it.
      headers: new Headers([
        ...Object.entries({ accept: 'application/json, */*;q=0.5', ...type }),
        ...headers,
        ...Object.entries(address.headers),
      ]),
      signal: ctx.signal,
      ...(body === undefined ? {} : { body }),
    })
    const result = await resultOf(response, operation, address.conceal)
    const shortened = reducer.reduce(result, { args, turnCount: ctx.turnCount }) ?? result
    const more = result.ok ? nextPage(response, url, parts) : undefined
    return more === undefined || !shortened.ok
      ? shortened
      : { ...shortened, value: `${shortened.value}\n[${more}]` }
  }
}

function requestOf(
  { path }: Operation,
  { parameters }: RequestParts,
  { args, baseUrl }: { readonly args: Readonly<Record<string, unknown>>; readonly baseUrl: string },
) {
  const headers: [string, string][] = []
  const cookies: string[] = []
  const query: string[] = []
  let filled = path
  for (const [key, parameter] of parameters) {
    const value = args[key]
    if (value === undefined) continue
    const { name } = parameter
    if (parameter.in === 'path') filled = filled.replaceAll(`{${name}}`, () => pathSegment(key, value))
    else if (parameter.in === 'query') query.push(...queryParts(parameter, value))
    else if (parameter.in === 'header') headers.push([name, plainText(value)])
    else cookies.push(`${name}=${encodeURIComponent(plainText(value))}`)
  }
  if (cookies.length > 0) headers.push(['cookie', cookies.join('; ')])
  const url = new URL(baseUrl.replace(/[?#].*$/s, '').replace(/\/+$/, '') + filled)
  url.search = [new URL(baseUrl).search.slice(1), ...query].filter((part) => part !== '').join('&')
  return { url, headers }
}

/** A value must not lead to another path. */
function pathSegment(key: string, value: unknown): string {
  const text = plainText(value)
  if (text === '' || text === '.' || text === '..')
    throw new CapabilityError(
      'input_invalid',
      `"${key}" is part of the path and cannot be ${JSON.stringify(text)}`,
    )
  return encodeURIComponent(text)
}

/** A parameter in the style that the document asks for: `a=1&a=2`, `a=1,2`, `a[b]=1`, or JSON. */
function queryParts({ name, node }: Parameter, value: unknown): readonly string[] {
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

function bodyOf(body: unknown, type: string): BodyInit {
  if (/[/+]json\b/i.test(type)) return JSON.stringify(body)
  const fields = isRecord(body) ? Object.entries(body) : undefined
  if (fields && /x-www-form-urlencoded/i.test(type))
    return new URLSearchParams(
      fields.map(([key, value]): [string, string] => [key, plainText(value)]),
    ).toString()
  if (fields && /^multipart\/form-data/i.test(type)) {
    const form = new FormData()
    for (const [key, value] of fields) for (const each of [value].flat()) form.append(key, plainText(each))
    return form
  }
  return plainText(body)
}

function plainText(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

async function resultOf(
  response: Response,
  { method, path }: Operation,
  conceal: (text: string) => string,
): Promise<ToolResult> {
  const type = response.headers.get('content-type') ?? ''
  const what = `${method.toUpperCase()} ${path}`
  const bytes = new Uint8Array(await response.arrayBuffer())
  const isText =
    bytes.length === 0 || /^text\/|[/+](json|xml|yaml|x-ndjson|javascript)\b/i.test(type) || type === ''
  const text = isText ? conceal(new TextDecoder().decode(bytes)) : ''
  if (!response.ok) {
    const refused =
      response.status === 401 || response.status === 403
        ? '; the credentials of this API are in the headers that its host configured'
        : ''
    const said = text === '' ? '' : `: ${clipText(text, ERROR_CHARS)}`
    return failure(`${what} answered ${`${response.status} ${response.statusText}`.trim()}${refused}${said}`)
  }
  if (bytes.length === 0) return success(`${what} answered ${response.status} without content.`)
  if (isText) {
    const data = /json/i.test(type) ? parseJson(text) : undefined
    return success(text, data)
  }
  const described = `${what} answered ${bytes.length} bytes of ${type}.`
  if (!/^(image|audio)\//i.test(type)) return success(described)
  const [mimeType = type] = type.split(';')
  const kind = mimeType.startsWith('image/') ? 'image' : 'audio'
  const content: ContentBlock[] = [{ type: kind, data: Buffer.from(bytes).toString('base64'), mimeType }]
  return { ok: true, value: described, content }
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
