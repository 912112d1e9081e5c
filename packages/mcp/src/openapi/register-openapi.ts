import type { SyncReport, Tool, ToolContext, ToolRegistry } from '@toolcrib/core'
import { CapabilityError, ToolcribError } from '@toolcrib/core'
import {
  anyText,
  checkOptions,
  describeError,
  isRecord,
  type OptionRules,
  objectOf,
  required,
  secretConcealerOf,
  textList,
  withoutHiding,
} from '@toolcrib/core/internal'
import { answering } from '../builtin-tools/answering.ts'
import { networkBackend } from '../capabilities/network.ts'
import { OpenApiDocument } from './document.ts'
import { OperationSchemas } from './operation-schema.ts'
import { type Operation, operationsOf } from './operations.ts'
import { sender } from './send-operation.ts'

/** Options of `registerOpenApi()`. */
export interface OpenApiOptions {
  /** The name of the API; its tools are called `openapi__<api>__<operationId>`. */
  readonly api: string
  /**
   * Where requests go. Naming it grants its host, which may be a private address. Default: the first absolute server of
   * the document, which must be public.
   */
  readonly baseUrl?: string
  /** Sent with each request, such as `Authorization`. No model sees them, and results are searched for their values. */
  readonly headers?: Readonly<Record<string, string>>
  /** The operations that become tools: `issues/*`, `tag:billing`, `GET /repos/*`. Default: all. Deprecated ones never do. */
  readonly allow?: readonly string[]
  /** The same for operations that do not; takes precedence. */
  readonly deny?: readonly string[]
}

const RULES: OptionRules<OpenApiOptions> = {
  api: required(anyText),
  baseUrl: anyText,
  headers: objectOf(anyText),
  allow: textList,
  deny: textList,
}

/**
 * Registers the operations of an OpenAPI 3 document (JSON, YAML or parsed) as tools, in place of those of an earlier
 * document with the same name. Throws `config-invalid` for a document that cannot be read, for an unknown option, and for
 * a rule that matches no operation.
 *
 * @example
 * ```ts
 * import { ToolRegistry } from 'toolcrib'
 * import { registerOpenApi } from 'toolcrib/openapi'
 *
 * const document = {
 *   openapi: '3.1.0',
 *   servers: [{ url: 'https://api.example.com' }],
 *   paths: { '/pets': { get: { operationId: 'listPets', summary: 'List all pets' } } },
 * }
 * const { added } = registerOpenApi(new ToolRegistry(), document, { api: 'petstore' })
 * console.log(added) // [ 'openapi__petstore__listPets' ]
 * ```
 */
export function registerOpenApi(
  registry: ToolRegistry,
  document: string | object,
  options: OpenApiOptions,
): SyncReport {
  checkOptions('registerOpenApi()', options, RULES)
  return registry.syncOpenApi(options.api, openApiTools(document, options))
}

function openApiTools(given: string | object, options: OpenApiOptions): readonly Tool[] {
  const document = OpenApiDocument.read(given)
  const { headers = {}, baseUrl = publicServer(document) } = options
  if (baseUrl === undefined || !URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
    throw new ToolcribError(
      'config-invalid',
      `the API "${options.api}" needs a baseUrl, such as https://api.example.com`,
    )
  const { host, hostname } = new URL(baseUrl)
  const network = networkBackend({
    hosts: [host],
    ...(options.baseUrl === undefined ? {} : { allowPrivate: [hostname] }),
  })
  // A key may also be in the address.
  const secrets = { ...headers, ...Object.fromEntries(new URL(baseUrl).searchParams) }
  const conceal = secretConcealerOf({ headers: secrets }) ?? ((text: string) => text)
  const visible = (text: string) => withoutHiding(conceal(text))
  const address = {
    baseUrl,
    headers,
    visible,
    fetch: async ({ sessionId, signal, context }: ToolContext, url: URL, init: RequestInit) => {
      const scope = { tool: options.api, sessionId, signal, attachments: [], context }
      try {
        return await (await network.open([host], scope)).fetch(url, init)
      } catch (error) {
        const code = error instanceof CapabilityError ? error.code : 'execution_failed'
        const isOwn = options.baseUrl === undefined && code === 'denied'
        const step = isOwn
          ? `; the address is the document's own: name it as baseUrl (base_url) to allow it`
          : ''
        throw new CapabilityError(code, visible(describeError(error)) + step)
      }
    },
  }
  const schemas = new OperationSchemas(document)
  try {
    return operationsOf(document, options).map((operation) => {
      const { schema, parts } = schemas.of(operation)
      return toolOf(operation, schema, answering(sender(operation, parts, address)))
    })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new ToolcribError('config-invalid', `the document of "${options.api}" is nested too deeply`, {
      cause: error,
    })
  }
}

function toolOf(operation: Operation, inputSchema: Tool['inputSchema'], execute: Tool['execute']): Tool {
  const { name, method, path } = operation
  const summary = summaryOf(operation)
  const isRead = method === 'get' || method === 'head' || method === 'options'
  return {
    name,
    // The summary alone is found best: long descriptions speak of other things too.
    description: summary,
    searchHint: `${summary} (${method.toUpperCase()} ${path})`,
    inputSchema,
    annotations: {
      readOnlyHint: isRead,
      ...(isRead
        ? {}
        : { destructiveHint: method === 'delete', idempotentHint: method === 'put' || method === 'delete' }),
      openWorldHint: true,
    },
    execute,
  }
}

const MAX_SUMMARY = 300

/** The summary, else the first sentence of the description, else method and path. */
function summaryOf({ node, method, path }: Operation): string {
  const texts = [node.summary, node.description].map((text) => (typeof text === 'string' ? text.trim() : ''))
  const [sentence = ''] = (texts.find((text) => text !== '') ?? '').split(/(?<=[.!?])\s|\n/)
  return sentence === '' ? `${method.toUpperCase()} ${path}` : sentence.slice(0, MAX_SUMMARY)
}

/** The first absolute server of a document, with the defaults of its variables. */
function publicServer({ root }: OpenApiDocument): string | undefined {
  const servers = Array.isArray(root.servers) ? root.servers : []
  return servers
    .flatMap((server): string[] => {
      if (!isRecord(server) || typeof server.url !== 'string') return []
      const variables = isRecord(server.variables) ? server.variables : {}
      return [
        server.url.replace(/\{([^{}]*)\}/g, (_, name: string) => {
          const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
          return isRecord(variable) ? String(variable.default ?? '') : ''
        }),
      ]
    })
    .find((url) => URL.canParse(url))
}
