import { isAbsolute, join } from 'node:path'
import type { Variables } from './expand-variables.ts'
import { type Fields, fillTable, invalid, type Place, readTable } from './read-table.ts'

/** `[openapi.NAME]`: an API whose operations are tools. */
export interface ApiConfig {
  /** The OpenAPI 3 document: a file, relative to the config's folder, or an address. */
  readonly spec: string
  /** Where requests go. Default: the first absolute server of the document, which must be public. */
  readonly baseUrl?: string
  /** Sent with each request, such as `Authorization`; write secrets as variables. */
  readonly headers?: Readonly<Record<string, string>>
  /** The operations that become tools: `issues/*`, `tag:billing`, `GET /repos/*`. Default: all. Deprecated ones never do. */
  readonly allow?: readonly string[]
  /** The same for operations that do not; takes precedence. */
  readonly deny?: readonly string[]
  /** The SHA-256 of the document in hexadecimal digits; another document is refused. */
  readonly sha256?: string
}

const OPENAPI_FIELDS = {
  spec: 'text',
  baseUrl: 'text',
  headers: 'map',
  allow: 'texts',
  deny: 'texts',
  sha256: 'text',
} as const satisfies Fields

/** Reads one API's table, with its variables expanded. Throws `config-invalid` for anything invalid. */
export function readApi(name: string, table: unknown, place: Place, variables: Variables): ApiConfig {
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name))
    throw invalid(place, [], 'invalid API name; use up to 64 letters, digits, "_", "." and "-"')
  const fields = readTable(table, OPENAPI_FIELDS, place)
  const { values, faults } = fillTable(fields, OPENAPI_FIELDS, place, variables)
  if (faults.length > 0) throw invalid(place, [], faults.join('; '))
  const { spec = '', ...others }: Partial<ApiConfig> = values
  if (spec === '') throw invalid(place, [], 'needs "spec", the file or address of an OpenAPI document')
  const isPlaced = isAbsolute(spec) || /^https?:\/\//i.test(spec)
  return { ...others, spec: isPlaced ? spec : join(variables.configFolder ?? '.', spec) }
}
