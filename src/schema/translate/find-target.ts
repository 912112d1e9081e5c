import { isRecord } from '../../json.ts'

/** The target of a local reference (`#`, `#/a/b`, `#anchor`); undefined for any other. Nothing is ever fetched. */
export function findTarget(root: Record<string, unknown>, reference: string): unknown {
  const fragment = fragmentOf(root, reference)
  if (fragment === undefined) return undefined
  if (fragment === '') return root
  const target = fragment.startsWith('/') ? byPointer(root, fragment) : byAnchor(root, fragment, 0)
  return isRecord(target) || typeof target === 'boolean' ? target : undefined
}

function fragmentOf(root: Record<string, unknown>, reference: string): string | undefined {
  const hash = reference.indexOf('#')
  const base = hash < 0 ? reference : reference.slice(0, hash)
  if (base !== '' && base !== root.$id && base !== root.id) return undefined
  try {
    return hash < 0 ? '' : decodeURIComponent(reference.slice(hash + 1))
  } catch {
    return undefined
  }
}

function byPointer(root: unknown, pointer: string): unknown {
  let target = root
  for (const step of pointer.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(target)) target = target[Number(key)]
    else if (isRecord(target) && Object.hasOwn(target, key)) target = target[key]
    else return undefined
  }
  return target
}

const MAX_DEPTH = 200

function byAnchor(value: unknown, anchor: string, depth: number): unknown {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return undefined
  if (isRecord(value) && (value.$anchor === anchor || value.$dynamicAnchor === anchor)) return value
  for (const nested of Object.values(value)) {
    const found = byAnchor(nested, anchor, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}
