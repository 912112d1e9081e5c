import type { JsonSchema } from '../../tool.ts'

/** Limits of the walk: real schemas have up to 84,000 characters, and a schema object may contain itself. */
const MAX_DEPTH = 6
const MAX_NODES = 400

/** A schema's parameter names and the texts that explain them. */
export interface ParameterTexts {
  readonly names: readonly string[]
  readonly texts: readonly string[]
}

/**
 * Collects parameter names, descriptions and allowed values, including nested ones. The walk is bounded and tolerates
 * any shape, since servers' schemas are not always valid.
 */
export function parameterTexts(schema: JsonSchema): ParameterTexts {
  const names: string[] = []
  const texts: string[] = []
  let nodesLeft = MAX_NODES

  const visit = (node: unknown, depth: number): void => {
    if (!isObject(node) || depth > MAX_DEPTH || nodesLeft-- <= 0) return
    for (const [name, parameter] of Object.entries(objectOf(node.properties))) {
      if (nodesLeft <= 0) return
      names.push(name)
      visitParameter(parameter, depth)
    }
    visit(node.items, depth + 1)
    for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
      const branches = node[keyword]
      if (Array.isArray(branches)) for (const branch of branches) visit(branch, depth + 1)
    }
  }

  const visitParameter = (parameter: unknown, depth: number): void => {
    if (!isObject(parameter)) return
    if (typeof parameter.description === 'string') texts.push(parameter.description)
    if (Array.isArray(parameter.enum)) {
      for (const value of parameter.enum.slice(0, MAX_NODES)) if (typeof value === 'string') texts.push(value)
    }
    visit(parameter, depth + 1)
  }

  visit(schema, 0)
  return { names, texts }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}
