interface NodeModules {
  'node:fs': typeof import('node:fs')
  'node:fs/promises': typeof import('node:fs/promises')
}

/** A module of Node, Bun or Deno; undefined in a browser. An import would keep bundlers from building for browsers. */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
  return process?.getBuiltinModule?.(name) as NodeModules[Name] | undefined
}
