import type {
  CapabilityBackends,
  CapabilityHandles,
  CapabilityName,
  CapabilityRequest,
  CapabilityScope,
} from '../capability.ts'

/** The capabilities a tool declares and no backend grants. */
export function missingCapabilities(
  request: CapabilityRequest | undefined,
  backends: CapabilityBackends,
): CapabilityName[] {
  return declaredNames(request).filter((name) => backends[name] === undefined)
}

/** A handle for each declared capability, from its backend. A backend that refuses throws. */
export async function openCapabilities(
  request: CapabilityRequest | undefined,
  backends: CapabilityBackends,
  scope: CapabilityScope,
): Promise<CapabilityHandles> {
  const opened = declaredNames(request).map(async (name) => [name, await open(name)] as const)
  return Object.fromEntries(await Promise.all(opened))

  function open<Name extends CapabilityName>(name: Name) {
    const declared = request?.[name]
    const backend = backends[name]
    if (!declared || !backend) throw new Error(`no backend grants ${name}`)
    return backend.open(declared, scope)
  }
}

// Unknown names count too: a tool must not run without what it declares.
function declaredNames(request: CapabilityRequest | undefined): CapabilityName[] {
  if (request === undefined) return []
  return (Object.keys(request) as CapabilityName[]).filter((name) => request[name] !== undefined)
}
