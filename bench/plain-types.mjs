// Runs TypeScript as it is shipped: strips the types and adds nothing. Other loaders wrap every function to keep its
// name, which slows small calls. Used by `node --import ./bench/plain-types.mjs`.
import { readFileSync } from 'node:fs'
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import ts from 'typescript'

if (isMainThread) register(import.meta.url)

const root = new URL('..', import.meta.url)
const { config } = ts.readConfigFile(new URL('tsconfig.json', root).pathname, ts.sys.readFile)
const compilerOptions = {
  module: ts.ModuleKind.ESNext,
  target: ts.ScriptTarget.ES2023,
  verbatimModuleSyntax: true,
}

export function resolve(specifier, context, next) {
  const source = config.compilerOptions.paths[specifier]?.[0]
  return source === undefined ? next(specifier, context) : next(new URL(source, root).href, context)
}

export function load(url, context, next) {
  const isType = url.endsWith('.ts')
  const isManifest = url.startsWith(root.href) && /\/packages\/[^/]+\/package\.json$/.test(url)
  if (!isType && !isManifest) return next(url, context)
  const text = readFileSync(new URL(url), 'utf8')
  const source = isType
    ? ts.transpileModule(text, { compilerOptions }).outputText
    : `export const version = ${JSON.stringify(JSON.parse(text).version)}`
  return { source, format: 'module', shortCircuit: true }
}
